import Foundation
import NIOCore

/// Measures what a large tree costs those who use little of it: the first data of listens, the host's memory, and its
/// start.
struct LargeTreeBenchmark: Benchmark {
    static let name = "database"
    private static let listens = 100
    private static let messagesEach = 100
    /// The bytes of a message's text.
    private static let textSize = 1000
    /// The rooms of one update, which makes a body of about 4 MB.
    private static let roomsInUpdate = 40

    var pace: Pace

    private var updates: Int { pace.count(250, quick: 25) }
    private var rooms: Int { updates * Self.roomsInUpdate }

    func run(in directory: URL) async throws -> Section {
        let size = rooms * Self.messagesEach * Self.textSize
        var section = Section(
            "Realtime Database: a tree of \(Quantity.bytes(size).text), \(rooms) rooms of \(Self.messagesEach) messages",
            notes: [
                "first data: from the request of a listen until its data have come, over one WebSocket",
                "memory: of a host that has just started on that tree, and has served the same in another room",
            ])
        let count = updates
        try await HostProcess.with([], in: directory) { host in
            let rest = RealtimeREST(port: host.ports.database, token: "owner")
            let start = ContinuousClock.now
            try await rest.update("rooms", count) { Self.update($0) }
            let seconds = (ContinuousClock.now - start).seconds
            section.add(Row("loading by PATCH of 4 MB: bytes", .bytes(Int(Double(size) / seconds))))
        }
        var starts: [Double] = []
        for _ in 0..<5 {
            starts.append(try await HostProcess.with([], in: directory) { $0.startTime.seconds })
        }
        section.add(
            Row(
                "start of the host until all ports answer: p50", .milliseconds(LoadReport.median(starts)),
                aim: .atMost(.milliseconds(0.3))))
        try await measure("a listen to a room of \(Self.messagesEach) messages", listens: 1, in: directory, &section) {
            "rooms/room-\($0 + $1)"
        }
        try await measure("\(Self.listens) listens to a message each", listens: Self.listens, in: directory, &section) {
            "rooms/room-\($0)/message-\($1)"
        }
        return section
    }

    /// - Parameter path: what the listen with a number is to, given a room.
    private func measure(
        _ what: String, listens: Int, in directory: URL, _ section: inout Section,
        path: (_ room: Int, _ number: Int) -> String
    ) async throws {
        var times: [Double] = []
        let (first, all) = try await HostProcess.with([], in: directory) { host in
            try await RealtimeClient.with(host.ports.database) { client in
                // What is allocated once isn't a listen's.
                let warmUp = (0..<listens).map { path(0, $0) }
                _ = try await client.listen(to: warmUp)
                try await client.unlisten(warmUp)
                let before = try host.child.tree.residentBytes()
                var grown: [Int] = []
                for _ in 0..<pace.count(200, quick: 50) {
                    // Other nodes each time, which are in no cache.
                    let first = Int.random(in: 1..<rooms)
                    let paths = (0..<listens).map { path(first, $0) }
                    let (seconds, bytes) = try await client.listen(to: paths)
                    guard bytes > Self.messagesEach * Self.textSize else {
                        throw LoadError("a listen has received \(bytes) bytes")
                    }
                    times.append(seconds)
                    grown.append(max(0, try host.child.tree.residentBytes() - before))
                    try await client.unlisten(paths)
                }
                return (grown[0], grown[grown.count - 1])
            }
        }
        section.add(
            Row(
                "\(what): first data, p50", .milliseconds(LoadReport.median(times)),
                aim: .atMost(.milliseconds(0.005))))
        section.add(Row("\(what): first data, the first measured", .milliseconds(times[0])))
        section.add(Row("\(what): memory grows by", .bytes(first), aim: .atMost(.bytes(1_000_000))))
        section.add(Row("\(what): memory has grown after \(times.count) listens elsewhere by", .bytes(all)))
    }

    private static func update(_ number: Int) -> String {
        let text = String(repeating: "The quick brown fox jumps over the lazy dog. ", count: textSize / 45 + 1).prefix(
            textSize)
        let rooms = (0..<roomsInUpdate).map { room in
            let messages = (0..<messagesEach).map { message in
                #""message-\#(message)":{"by":"user-\#(message % 7)","at":\#(1_795_000_000_000 + message),"text":"\#(text)"}"#
            }
            return #""room-\#(number * roomsInUpdate + room)":{\#(messages.joined(separator: ","))}"#
        }
        return "{\(rooms.joined(separator: ","))}"
    }
}
