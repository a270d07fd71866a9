import WorkerProtocol
@testable import Workers
@testable import Gateway
import NIOHTTP1
import Testing

@Suite struct AddressTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.7", "10.0.0.7", true),
        ("10.0.0.7", "10.0.0.8", false), ("0.0.0.0/0", "192.0.2.1", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "192.0.2.1", true), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::1", false), ("10.0.0.0/31", "10.0.0.1", true), ("10.0.0.0/31", "10.0.0.2", false),
        ("::ffff:10.0.0.1", "10.0.0.1", true), ("2001:db8::1:0:0:0/65", "2001:db8::8000:0:0:1", false),
    ])
    func prefixesCoverWhatBeginsWithTheirBits(prefix: String, address: String, isCovered: Bool) throws {
        let prefix = try #require(AddressPrefix(prefix))
        let other = try #require(IPAddress(address))
        #expect(prefix.contains(other) == isCovered)
    }

    @Test(arguments: ["", "host", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0", "::/129", "10.0.0.0/-1"])
    func otherTextIsNoPrefix(text: String) { #expect(AddressPrefix(text) == nil) }

    @Test(arguments: [
        ([], "10.0.0.1"), (["192.0.2.1"], "192.0.2.1"), (["203.0.113.9, 192.0.2.1"], "192.0.2.1"),
        (["192.0.2.1, 10.0.0.2"], "192.0.2.1"), (["203.0.113.9", "192.0.2.1 , 10.0.0.2"], "192.0.2.1"),
        (["192.0.2.1:4711"], "192.0.2.1"), (["[2001:db8::1]:4711"], "2001:db8::1"), (["2001:db8::1"], "2001:db8::1"),
        (["unknown, 10.0.0.2"], "10.0.0.2"), (["10.0.0.3"], "10.0.0.3"), ([""], "10.0.0.1"),
    ])
    func theClientIsTheLastWhomNoProxyVouchesFor(headers: [String], client: String) throws {
        let proxies = TrustedProxies([try #require(AddressPrefix("10.0.0.0/8"))])
        let all = HTTPHeaders(headers.map { ("X-Forwarded-For", $0) })
        let proxy = try #require(IPAddress("10.0.0.1"))
        #expect(proxies.client(proxy, all) == IPAddress(client))
        let stranger = try #require(IPAddress("198.51.100.1"))
        #expect(proxies.client(stranger, all) == stranger)
        #expect(TrustedProxies().client(stranger, all) == stranger)
        // A mark before the proxy's comma doesn't make its address a part of the client's text.
        let invented = ["[2001:db8::1]\u{600}, 203.0.113.9", "1.2.3.4:5\u{600}, 203.0.113.9"]
        for text in invented {
            let peer = try #require(IPAddress("10.0.0.1"))
            #expect(proxies.client(peer, forwardedFor: [text]) == IPAddress("203.0.113.9"))
        }
    }

    /// Whoever connects is the platform, and what isn't on the same machine in front of it is the client.
    @Test(arguments: ["198.51.100.1", "10.0.0.1", "169.254.1.1"])
    func aPlatformsProxyIsBelievedWhateverItsAddress(peer: String) throws {
        let peer = try #require(IPAddress(peer))
        func client(_ way: String?) -> IPAddress {
            TrustedProxies.platform(beside: []).client(peer, HTTPHeaders(way.map { [("X-Forwarded-For", $0)] } ?? []))
        }
        #expect(client("203.0.113.9, 192.0.2.1") == IPAddress("192.0.2.1"))
        #expect(client("203.0.113.9, 192.0.2.1, 169.254.1.1, 127.0.0.1") == IPAddress("192.0.2.1"))
        #expect(client("203.0.113.9, 10.1.2.3") == IPAddress("10.1.2.3"))
        #expect(client("2001:db8::1, fd00::7") == IPAddress("fd00::7"))
        #expect(client("192.168.0.4") == IPAddress("192.168.0.4"))
        #expect(client(nil) == peer)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("::", "::"),
        ("2001:0db8:0:0::0001", "2001:db8::1"), ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil), ("::1", "::1"),
    ])
    func addressesReadAsUsual(text: String, usual: String?) throws {
        #expect(try #require(IPAddress(text)).description == usual ?? text)
    }

    @Test func aPlatformsOtherProxiesAreNamed() throws {
        let peer = try #require(IPAddress("169.254.1.1"))
        let proxies = TrustedProxies.platform(beside: [try #require(AddressPrefix("198.51.100.0/24"))])
        let way = HTTPHeaders([("X-Forwarded-For", "203.0.113.9, 192.0.2.1, 198.51.100.7")])
        #expect(proxies.client(peer, way) == IPAddress("192.0.2.1"))
    }
}
