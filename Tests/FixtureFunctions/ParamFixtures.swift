import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

private let greeting = defineString("GREETING", description: "How users are greeted")
private let limit = defineInt("LIMIT", default: 10)
private let rate = defineFloat("RATE", default: 0.5)
private let shout = defineBool("SHOUT", default: false)
private let tags = defineList("TAGS", default: [])
private let unlisted = defineString("UNLISTED", default: "never read")
private let apiKey = defineSecret("API_KEY", description: "Of the service that the fixture asks")

extension FixtureFunctions {
    /// Params are required, so only a bundle with this variable declares them: `FIXTURE_PARAMS=1`, or `early` for one
    /// that also reads them too early.
    private static var mode: String? { getenv("FIXTURE_PARAMS").map { String(cString: $0) } }

    var params: [ParamDefinition] { Self.mode == nil ? [] : listed }

    @ParamsBuilder private var listed: [ParamDefinition] {
        greeting
        limit
        rate
        shout
        tags
    }

    var configured: [Function]? { Self.mode == nil ? nil : readers }

    @FunctionsBuilder private var readers: [Function] {
        onCall("params", .maxInstances(Self.mode == "early" ? limit.value : 1)) { (request: CallableRequest<NoData>) in
            Params(
                greeting: greeting.value, limit: limit.value, rate: rate.value, shout: shout.value, tags: tags.value)
        }
        onCall("readsUnlisted") { (request: CallableRequest<NoData>) in unlisted.value }
        onCall("readsSecret", .secrets(apiKey)) { (request: CallableRequest<NoData>) in apiKey.value.count }
        onCall("readsAnothersSecret") { (request: CallableRequest<NoData>) in apiKey.value.count }
        onCall("leaks", .secrets(apiKey)) { (request: CallableRequest<String>) -> NoData in
            switch request.data {
            case "print": print("the key is \(apiKey.value)!")
            case "log": request.logger.info("the key is \(apiKey.value)!", metadata: ["key": "\(apiKey.value)"])
            default: throw Leak(key: apiKey.value)
            }
            return NoData()
        }
    }

    private struct Params: Codable, Sendable {
        var greeting: String
        var limit: Int
        var rate: Double
        var shout: Bool
        var tags: [String]
    }

    private struct Leak: Error, CustomStringConvertible {
        var key: String
        var description: String { "the key is \(key)!" }
    }
}
