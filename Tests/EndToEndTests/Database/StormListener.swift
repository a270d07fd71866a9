import TestSupport
import Testing

/// Listens to a node and to a query, and comes back with what it has seen when it loses its connection.
struct StormListener: StormClient {
    private static let query = #"{"i":"n","l":8,"vf":"r"}"#
    private static let tag = 1

    let name: String
    let storm: ConnectionsStorm
    var random: SeededGenerator
    private(set) var returns = 0
    /// The listens that were answered without data, since nothing had changed.
    private(set) var unchanged = 0
    private var socket: DatabaseSocket?
    private var formerSession: String?
    private var board = JSON.null
    private var window = JSON.null
    private var marks = 0

    init(_ name: String, _ storm: ConnectionsStorm, seed: UInt64) {
        (self.name, self.storm) = (name, storm)
        random = SeededGenerator(seed: seed)
    }

    mutating func act() async throws -> Bool {
        guard try await connect(), let socket else { return false }
        try await Bound.pause(milliseconds: 10)
        keepViews()
        // A commit is seen as a whole.
        #expect(board["notes"] == board["copies"], "\(name)")
        if random.once(in: 20) { await socket.drop() }
        return true
    }

    private mutating func keepViews() {
        board = socket?.view()?.value ?? board
        window = socket?.view(tag: Self.tag)?.value ?? window
    }

    /// - Returns: whether it listens.
    private mutating func connect() async throws -> Bool {
        if let socket, socket.isOpen { return true }
        keepViews()
        socket = nil
        guard let new = try await storm.connect(continuing: formerSession) else { return false }
        formerSession = new.session
        returns += 1
        guard
            let first = try? await new.listen(to: "board", knowing: board),
            let second = try? await new.listen(
                to: "board/notes", query: (Self.query, Self.tag), knowing: window)
        else { return false }
        #expect(first.isOK && second.isOK, "\(first) \(second)")
        if first.isOK, new.view()?.pushes == 0 { unchanged += 1 }
        socket = new
        return true
    }

    /// Compares what it sees with what is stored. Nothing else is written meanwhile.
    mutating func check() async throws {
        // By the answer to its own write it has seen that, and all earlier writes.
        marks += 1
        let mark = #"{"n":\#(1_000_000 + marks)}"#
        var answer: DatabaseSocket.Answer?
        repeat {
            guard try await connect() else { continue }
            answer = try? await socket?.request(
                "m", #"{"p":"/board","d":{"notes/mark\#(name)":\#(mark),"copies/mark\#(name)":\#(mark)}}"#)
        } while answer == nil
        #expect(answer?.isOK == true, "\(String(describing: answer))")
        keepViews()
        let stored = try await storm.read("board")
        #expect(board == stored, "\(name) doesn't see what is stored")
        #expect(window == Self.window(of: stored["notes"] ?? .null), "\(name) doesn't see the query's window")
    }

    /// The eight notes that come last by `n`, and then by key.
    static func window(of notes: JSON) -> JSON {
        guard case .object(let members) = notes else { return .null }
        let sorted = members.sorted { ($0.value["n"]?.integer ?? 0, $0.key) < ($1.value["n"]?.integer ?? 0, $1.key) }
        return .object(Dictionary(uniqueKeysWithValues: sorted.suffix(8).map { ($0.key, $0.value) }))
    }
}
