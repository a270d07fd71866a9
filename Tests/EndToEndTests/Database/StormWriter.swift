import TestSupport
import Testing

/// Writes to the database in all ways that a client has, and knows what may be stored.
struct StormWriter: StormClient {
    /// How often something was done: acknowledged, or perhaps.
    struct Count: Sendable {
        var acknowledged = 0
        var unsure = 0

        mutating func note(isAcknowledged: Bool) {
            if isAcknowledged { acknowledged += 1 } else { unsure += 1 }
        }
    }

    /// An update of `board/notes`, `board/copies`, `updates` and `done`.
    private struct Update {
        let step: Int
        let note: String
        let value: JSON
    }

    let name: String
    let storm: ConnectionsStorm
    var random: SeededGenerator
    let isOwner: Bool
    /// Since the last check, by the path that counts them.
    private(set) var counts: [String: Count] = [:]
    /// How often another client's transaction came first.
    private(set) var stale = 0
    private var socket: DatabaseSocket?
    private var step = 0
    /// The values that may be stored at a path: the last acknowledged one, and those that were sent since.
    private var possible: [String: [JSON]] = [:]
    private var wasUpdated = false
    /// The updates that may be the last.
    private var last: [Update] = []

    init(_ name: String, _ storm: ConnectionsStorm, isOwner: Bool, seed: UInt64) {
        (self.name, self.storm, self.isOwner) = (name, storm, isOwner)
        random = SeededGenerator(seed: seed)
    }

    mutating func act() async throws -> Bool {
        if socket?.isOpen != true { socket = try await storm.connect(asOwner: isOwner) }
        guard let socket else { return false }
        step += 1
        return switch Int.random(in: 0..<4, using: &random) {
        case 0: await set(socket)
        case 1: await update(socket)
        case 2: await transact(socket)
        default: await increment(socket)
        }
    }

    /// - Returns: whether the write was acknowledged.
    private static func write(_ socket: DatabaseSocket, _ action: String, _ body: String) async -> Bool {
        guard let answer = try? await socket.request(action, body) else { return false }
        #expect(answer.isOK, "\(action) \(body.prefix(200)): \(answer)")
        return answer.isOK
    }

    private mutating func note(_ path: String, _ value: JSON, isAcknowledged: Bool) {
        possible[path] = isAcknowledged ? [value] : possible[path, default: [.null]] + [value]
    }

    private mutating func set(_ socket: DatabaseSocket) async -> Bool {
        let path = "sets/\(name)k\(Int.random(in: 0..<8, using: &random))"
        let value: JSON =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .null
            case 1: .string(String(repeating: "é\(step)", count: 9_000))
            default: .integer(Int64(step))
            }
        let json =
            switch value {
            case .string(let text): "\"\(text)\""
            case .integer(let number): "\(number)"
            default: "null"
            }
        let isAcknowledged = await Self.write(socket, "p", #"{"p":"/\#(path)","d":\#(json)}"#)
        note(path, value, isAcknowledged: isAcknowledged)
        return isAcknowledged
    }

    private mutating func update(_ socket: DatabaseSocket) async -> Bool {
        let note = "\(name)k\(Int.random(in: 0..<24, using: &random))"
        let n = random.once(in: 4) ? nil : Int.random(in: 0..<1000, using: &random)
        let value: JSON = n.map { .object(["n": .integer(Int64($0)), "step": .integer(Int64(step))]) } ?? .null
        let json = n.map { #"{"n":\#($0),"step":\#(step)}"# } ?? "null"
        let isAcknowledged = await Self.write(
            socket, "m",
            #"{"p":"/","d":{"board/notes/\#(note)":\#(json),"board/copies/\#(note)":\#(json),"#
                + #""updates/\#(name)":\#(step),"done":{".sv":{"increment":1}}}}"#)
        counts["done", default: Count()].note(isAcknowledged: isAcknowledged)
        for place in ["board/notes/", "board/copies/"] {
            self.note(place + note, value, isAcknowledged: isAcknowledged)
        }
        wasUpdated = wasUpdated || isAcknowledged
        last = (isAcknowledged ? [] : last) + [Update(step: step, note: note, value: value)]
        return isAcknowledged
    }

    /// Adds one to what it has read, as long as another client comes first.
    private mutating func transact(_ socket: DatabaseSocket) async -> Bool {
        while let read = try? await socket.request("g", #"{"p":"/counter","q":{}}"#) {
            #expect(read.isOK, "\(read)")
            let next = (read.data.integer ?? 0) + 1
            guard
                let answer = try? await socket.request(
                    "p", #"{"p":"/counter","d":\#(next),"h":"\#(read.data.databaseHash)"}"#)
            else {
                counts["counter", default: Count()].note(isAcknowledged: false)
                return false
            }
            if answer.status == "datastale" {
                stale += 1
                continue
            }
            #expect(answer.isOK, "\(answer)")
            counts["counter", default: Count()].note(isAcknowledged: true)
            return true
        }
        return false
    }

    /// Sends several increments before the first one is answered.
    private mutating func increment(_ socket: DatabaseSocket) async -> Bool {
        let count = Int.random(in: 1...5, using: &random)
        let acknowledged = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask { await Self.write(socket, "p", #"{"p":"/hits","d":{".sv":{"increment":1}}}"#) }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        for isAcknowledged in acknowledged { counts["hits", default: Count()].note(isAcknowledged: isAcknowledged) }
        return acknowledged.allSatisfy { $0 }
    }

    /// Compares what is stored with what may be, and knows then what is.
    mutating func check(_ tree: JSON) {
        counts = [:]
        for (path, values) in possible {
            let stored = tree.value(at: path)
            #expect(values.contains(stored), "\(path): \("\(stored)".prefix(200)), of \(values.count)")
            possible[path] = [stored]
        }
        // The last update is there as a whole.
        let stored = tree.value(at: "updates/\(name)").integer
        if stored == nil, wasUpdated { Issue.record("\(name): all updates are lost") }
        last = last.filter { $0.step == stored }
        #expect(last.count == (stored == nil ? 0 : 1), "\(name): the update \(stored ?? 0) isn't the last one")
        for update in last { #expect(tree.value(at: "board/notes/\(update.note)") == update.value, "\(update)") }
    }
}
