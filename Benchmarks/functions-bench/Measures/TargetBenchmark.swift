import FirestoreMessages
import Foundation
import NIOCore
import NIOPosix
import SwiftProtobuf

/// Measures Listen over gRPC: the time from a commit to the last of many targets, and what idle targets and connections
/// cost in memory.
struct TargetBenchmark: Benchmark {
    static let name = "targets"
    private static let connections = 100

    var pace: Pace

    private enum Audience: String, CaseIterable {
        case one = "on one query"
        case own = "on queries of their own"
    }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Listen over gRPC: targets over \(Self.connections) connections",
            notes: [
                "the time includes the commit: of one document, or of one for each query",
                "reference: the same commit without listeners, and a bare NIO server that sends the same bytes to as "
                    + "many connections",
            ])
        for audience in Audience.allCases {
            // 100 is one for each connection, as libraries do: they listen to a query once.
            for targets in audience == .one ? [100, 1000, 10_000] : [1000, 10_000] {
                let folder = try folder("\(audience)-\(targets)", in: directory)
                try await HostProcess.with([], in: folder) { host in
                    try await measure(audience, targets, host, in: folder, &section)
                }
            }
        }
        let folder = try folder("idle", in: directory)
        try await HostProcess.with([], in: folder) { host in try await idle(host, &section) }
        let sessionFolder = try self.folder("sessions", in: directory)
        try await HostProcess.with([], in: sessionFolder) { host in try await sessions(host, &section) }
        return section
    }

    private func measure(
        _ audience: Audience, _ targets: Int, _ host: HostProcess, in folder: URL, _ section: inout Section
    ) async throws {
        let documents = Documents(port: host.ports.firestore)
        let count = audience == .one ? 1 : targets
        try await documents.store(
            (0..<count).map { Documents.set("heard/d\($0)", #""number":{"integerValue":"\#($0)"}"#) })
        var alone: [Double] = []
        for round in 0..<pace.count(20, quick: 8) {
            let start = ContinuousClock.now
            let answer = try await Load.ask(Self.commit(count, round: -1 - round, documents), of: host.ports.firestore)
            alone.append((ContinuousClock.now - start).seconds)
            guard answer.status == 200 else { throw LoadError("the commit failed") }
        }
        let audienceOfAll = try await ListenAudience.connect(Self.connections, to: host.ports.firestore)
        try await audienceOfAll.add(targets) { number in
            audience == .one ? Self.all() : Self.own(number)
        }
        var times: [Double] = []
        var bytes = ByteBuffer()
        for round in 0..<pace.count(20, quick: 8) {
            let request = Self.commit(count, round: round, documents)
            let start = ContinuousClock.now
            async let answer = Load.ask(request, of: host.ports.firestore)
            let (last, message) = try await audienceOfAll.changes(count: targets)
            times.append((last - start).seconds)
            bytes = message
            guard try await answer.status == 200 else { throw LoadError("the commit failed") }
        }
        try await audienceOfAll.close()
        let reference = LoadReport.median(alone) + (try await Self.broadcast(bytes, pace: pace, in: folder))
        section.add(
            Row(
                "\(targets) \(audience.rawValue): p50", .milliseconds(LoadReport.median(times)),
                beside: audience == .one ? .milliseconds(reference) : nil,
                aim: audience == .one ? .ratioAtMost(1.5) : nil))
    }

    /// A commit that changes all of the documents.
    private static func commit(_ count: Int, round: Int, _ documents: Documents) -> ByteBuffer {
        documents.commit(
            (0..<count).map { number in
                Documents.set(
                    "heard/d\(number)",
                    #""number":{"integerValue":"\#(number)"},"round":{"integerValue":"\#(round)"}"#)
            })
    }

    private static func all() -> FSStructuredQuery {
        var query = FSStructuredQuery()
        query.from = [.with { $0.collectionID = "heard" }]
        return query
    }

    private static func own(_ number: Int) -> FSStructuredQuery {
        var query = all()
        query.where.fieldFilter.field.fieldPath = "number"
        query.where.fieldFilter.op = .equal
        query.where.fieldFilter.value.integerValue = Int64(number)
        return query
    }

    /// The median time of a bare broadcast to as many connections.
    private static func broadcast(_ bytes: ByteBuffer, pace: Pace, in folder: URL) async throws -> Double {
        let server = try await BroadcastServer.start(bytes)
        let times = try await server.measure(connections: connections, rounds: pace.count(20, quick: 8))
        try await server.stop()
        return LoadReport.median(times)
    }

    /// Connections with one stream each, and targets on them that nothing happens to.
    private func idle(_ host: HostProcess, _ section: inout Section) async throws {
        let (connections, targets) = (pace.count(1000, quick: 500), 10_000)
        // What is allocated once isn't a connection's.
        let first = try await ListenAudience.connect(10, to: host.ports.firestore)
        try await first.add(10) { _ in Self.all() }
        let before = try host.child.tree.residentBytes()
        let audience = try await ListenAudience.connect(connections, to: host.ports.firestore)
        let connected = try host.child.tree.residentBytes()
        try await audience.add(targets) { Self.own($0) }
        let listening = try host.child.tree.residentBytes()
        section.add(
            Row(
                "an idle connection with its stream: memory", .bytes(max(connected - before, 0) / connections),
                aim: .atMost(.bytes(40_000))))
        section.add(
            Row(
                "an idle target: memory", .bytes(max(listening - connected, 0) / targets), aim: .atMost(.bytes(8000))))
        try await audience.close()
        try await first.close()
    }

    /// WebChannel sessions with an open back channel and no target.
    private func sessions(_ host: HostProcess, _ section: inout Section) async throws {
        let count = pace.count(1000, quick: 300)
        for channel in try await WebChannelSessions.open(10, at: host.ports.firestore) { try? await channel.close() }
        let before = try host.child.tree.residentBytes()
        let channels = try await WebChannelSessions.open(count, at: host.ports.firestore)
        let after = try host.child.tree.residentBytes()
        section.add(
            Row(
                "a WebChannel session with its back channel: memory", .bytes(max(after - before, 0) / count),
                aim: .atMost(.bytes(40_000))))
        for channel in channels { try? await channel.close() }
    }
}
