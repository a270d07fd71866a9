import NIOHTTP1
import TextFormats

/// What a request opens a session with.
struct SessionOpening {
    let key: RealtimeSessions.Key
    let database: any RealtimeDatabase
    let opening: RealtimeSession.Opening

    init(_ head: HTTPRequestHead, _ parameters: URLParameters, _ parts: RealtimeParts) throws(RESTRefusal) {
        guard parameters["v"] == "5" else { throw RESTRefusal(400, "The protocol's version is 5.") }
        let host = head.headers.first(name: "Host") ?? ""
        let name = try parts.databaseNames.name(parameters["ns"], host: host)
        do throws(RealtimeServiceError) { database = try parts.service.database(name) } catch {
            throw RESTRefusal(error)
        }
        key = RealtimeSessions.Key(database: name, session: Self.randomID())
        opening = RealtimeSession.Opening(
            host: host, formerSession: parameters["ls"], appToken: parameters.appToken(head.headers),
            allowsOwner: !parts.isForeign(head))
    }

    func connection(on loop: RealtimeLoop, address: UInt64) -> RealtimeConnection {
        RealtimeConnection(key, database, opening, address: address, loop: loop)
    }

    /// An id that can't be guessed.
    static func randomID() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode((0..<18).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
