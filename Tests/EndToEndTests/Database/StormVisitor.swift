import TestSupport
import Testing

/// Registers what is to happen when it disconnects, and disconnects: by itself, or with the host.
struct StormVisitor: StormClient {
    /// One connection. Its counters stand below `gone`, and count how often what it has registered was done.
    private struct Visit {
        enum Expected { case once, never, unsure }

        let name: String
        var counters: [String: Expected] = [:]

        /// - Parameter gone: what is stored at `gone`.
        /// - Returns: whether all has happened that must.
        func check(_ gone: JSON, isOver: Bool = true) -> Bool {
            var isDone = true
            for (counter, expected) in counters {
                let count = gone[name]?[counter]?.integer ?? 0
                let limit = !isOver || expected == .never ? 0 : 1
                #expect(count <= limit, "\(name)/\(counter) happened \(count) times, \(expected), over: \(isOver)")
                if expected == .once, count != 1 { isDone = false }
            }
            // One update.
            if counters["b"] == counters["c"] { #expect(gone[name]?["b"] == gone[name]?["c"], "\(name)") }
            return isDone
        }
    }

    let name: String
    let storm: ConnectionsStorm
    var random: SeededGenerator
    /// How often it came back with its former session.
    private(set) var returns = 0
    private var socket: DatabaseSocket?
    /// Its last session with registrations.
    private var former: (session: String, visit: String)?
    private var current: Visit?
    /// Those that have ended, and of which something may not have happened yet.
    private var owing: [Visit] = []
    private var done: [Visit] = []
    private var step = 0

    var visits: Int { done.count + owing.count }

    init(_ name: String, _ storm: ConnectionsStorm, seed: UInt64) {
        (self.name, self.storm) = (name, storm)
        random = SeededGenerator(seed: seed)
    }

    mutating func act() async throws -> Bool {
        guard let socket, socket.isOpen else {
            endVisit()
            return try await come()
        }
        try await Bound.pause(milliseconds: 5)
        guard let visit = current, random.once(in: 8) else {
            return (try? await socket.request("p", #"{"p":"/here/\#(name)","d":\#(step)}"#).isOK) ?? false
        }
        // As long as it is there, nothing has happened.
        guard let read = try? await socket.request("g", #"{"p":"/gone/\#(visit.name)","q":{}}"#) else { return false }
        #expect(read.isOK && read.data == .null, "\(visit.name) was still connected: \(read)")
        if Bool.random(using: &random) { await socket.drop() } else { await socket.close() }
        return true
    }

    private mutating func endVisit() {
        socket = nil
        if let current { owing.append(current) }
        current = nil
    }

    /// Connects, and registers.
    private mutating func come() async throws -> Bool {
        let continued = Bool.random(using: &random) ? former : nil
        guard let new = try await storm.connect(continuing: continued?.session) else { return false }
        socket = new
        if let continued {
            guard await check(continued.visit, new) else { return false }
            returns += 1
        }
        step += 1
        let name = "\(name)s\(step)"
        former = (new.session, name)
        current = Visit(name: name)
        let increment = #"{".sv":{"increment":1}}"#
        guard await register(new, "o", #""p":"/gone/\#(name)/a","d":\#(increment)"#, ["a"], .once) else { return false }
        if Bool.random(using: &random) {
            let update = #""p":"/gone/\#(name)","d":{"b":\#(increment),"c":\#(increment)}"#
            guard await register(new, "om", update, ["b", "c"], .once) else { return false }
        }
        if random.once(in: 4) {
            let cancelled = Bool.random(using: &random) ? "a" : "b"
            guard await register(new, "oc", #""p":"/gone/\#(name)/\#(cancelled)","d":null"#, [cancelled], .never) else {
                return false
            }
        }
        return true
    }

    /// - Returns: whether it was acknowledged.
    private mutating func register(
        _ socket: DatabaseSocket, _ action: String, _ body: String, _ counters: [String], _ expected: Visit.Expected
    ) async -> Bool {
        let answer = try? await socket.request(action, "{\(body)}")
        if let answer { #expect(answer.isOK, "\(action) \(body): \(answer)") }
        for counter in counters { current?.counters[counter] = answer == nil ? .unsure : expected }
        return answer != nil
    }

    /// What the former session has registered was done before anything that this one asks for.
    ///
    /// - Returns: whether the host has answered.
    private func check(_ former: String, _ socket: DatabaseSocket) async -> Bool {
        guard let visit = owing.first(where: { $0.name == former }) else { return true }
        guard let read = try? await socket.request("g", #"{"p":"/gone/\#(visit.name)","q":{}}"#) else { return false }
        #expect(
            visit.check(.object([visit.name: read.data])),
            "\(visit.name) was continued, and this was done: \(read), of \(visit.counters)")
        return true
    }

    /// Disconnects.
    mutating func leave() async throws {
        await socket?.drop()
        endVisit()
    }

    /// Compares what has happened with what was registered.
    ///
    /// - Parameter gone: what is stored at `gone`.
    /// - Returns: whether all has happened that must.
    mutating func check(_ gone: JSON) -> Bool {
        if socket?.isOpen != true { endVisit() }
        if let current { _ = current.check(gone, isOver: false) }
        for visit in done { #expect(visit.check(gone), "what has happened was lost") }
        var left: [Visit] = []
        for visit in owing { if visit.check(gone) { done.append(visit) } else { left.append(visit) } }
        owing = left
        return owing.isEmpty
    }
}
