import FunctionManifest
import StrictJSON
import Workers

extension ConfigurationReader {
    mutating func trustedProxies(_ node: JSONNode) -> [String] {
        var proxies: [String] = []
        for element in list(node, "addresses") ?? [] {
            guard let text = string(element) else { continue }
            if AddressPrefix(text) == nil {
                report(
                    "\(element.summary) is not an IP address; write one such as 10.0.0.7, or a range such as "
                        + "10.0.0.0/8",
                    at: element.offset)
            }
            proxies.append(text)
        }
        return proxies
    }

    mutating func hosts(_ node: JSONNode) -> [String] {
        var hosts: [String] = []
        for element in list(node, "host names") ?? [] {
            guard let text = string(element) else { continue }
            if HostPattern(text) == nil {
                report(
                    "\(element.summary) is not a host name; write one such as shop.test, or *.shop.test for all below it",
                    at: element.offset)
            }
            hosts.append(text)
        }
        return hosts
    }

    mutating func callerLimits(_ node: JSONNode, key: String) -> [RateLimitManifest]? {
        guard let elements = list(node, "rate limits") else { return nil }
        if elements.count > RateLimitManifest.maxLimits {
            report(
                "there are \(elements.count) rate limits; \(RateLimitManifest.maxLimits) is the limit", at: node.offset)
        }
        var limits: [RateLimitManifest] = []
        for (index, element) in elements.enumerated() {
            guard let object = object(element, key: "\(key)[\(index)]", known: ConfigurationKeys.callerLimit) else {
                continue
            }
            let per = required("per", of: object, element, "\"user\" or \"address\"").flatMap {
                choice($0, RateLimitManifest.Subject.self)
            }
            let count = required("count", of: object, element, "the number of calls").flatMap {
                integer($0, RateLimitManifest.counts, "a number of calls")
            }
            let seconds = required("seconds", of: object, element, "the time in seconds").flatMap {
                integer($0, RateLimitManifest.times, "a time in seconds")
            }
            if let per, let count, let seconds {
                limits.append(RateLimitManifest(per: per, count: count, seconds: seconds))
            }
        }
        return limits
    }
}
