import Sharing
import Testing

struct RecentMapTests {
    @Test func whatIsUsedStaysAndTheRestGoes() {
        var map = RecentMap<Int, String>(maxBytes: 100)
        map.set("first", bytes: 10, for: 0)
        for n in 1...100 {
            map.set("\(n)", bytes: 10, for: n)
            #expect(map.use(0) == "first")
            #expect(map.use(n) == "\(n)")
            #expect(map.bytes <= 100)
        }
        #expect(map.use(1) == nil)
        map.set("large", bytes: 51, for: 0)
        #expect(map.use(0) == nil)
    }

    @Test func bytesAreThoseOfTheValues() {
        var map = RecentMap<Int, Int>(maxBytes: 1000)
        var model: [Int: Int] = [:]
        for _ in 0..<5000 {
            let (key, bytes) = (Int.random(in: 0..<200), Int.random(in: 1...30))
            switch Int.random(in: 0..<3) {
            case 0:
                map.set(bytes, bytes: bytes, for: key)
                model[key] = bytes
            case 1: if let value = map.use(key) { #expect(value == model[key]) }
            default:
                map.remove(key)
                model[key] = nil
            }
            #expect(map.bytes <= 1000)
        }
        let left = (0..<200).filter { map.use($0) != nil }
        #expect(!left.isEmpty && left.allSatisfy { model[$0] != nil })
        for key in left { #expect(map.remove(key) || map.use(key) == nil) }
        #expect(map.bytes == 0)
    }
}
