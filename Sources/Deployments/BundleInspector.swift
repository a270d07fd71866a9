import FunctionManifest
import WorkerProtocol
import Workers
import NIOPosix

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs a bundle's executable to get its manifest.
struct BundleInspector: Sendable {
    /// A bundle writes its manifest within milliseconds; one that takes this long hangs.
    var timeout: Duration = .seconds(10)
    private static let maxManifest = 4 * 1024 * 1024
    private static let maxOutput = 4096

    init(timeout: Duration = .seconds(10)) { self.timeout = timeout }

    /// - Throws: ``BundleError`` if the executable writes no valid manifest; it says what the executable did instead.
    func manifest(of executable: String, environment: [String: String]) async throws -> Manifest {
        try await NIOThreadPool.singleton.runIfActive {
            try inspect(executable, environment)
        }
    }

    private func inspect(_ executable: String, _ environment: [String: String]) throws -> Manifest {
        func failure(_ reason: String) -> BundleError { BundleError(executable: executable, reason: reason) }
        let link = try DescriptorPair.pipe()
        let output = try DescriptorPair.pipe()
        var environment = environment
        environment[WorkerEnvironment.linkCountVariable] = "1"
        let spawn = ProcessSpawn(
            executable: executable, arguments: ["manifest"], environment: environment,
            standardOutput: output.write, standardError: output.write, links: [link.write])
        let started = Result { () throws(ProcessSpawn.Failure) in try spawn.start() }
        DescriptorPair.close(link.write)
        DescriptorPair.close(output.write)
        defer {
            DescriptorPair.close(link.read)
            DescriptorPair.close(output.read)
        }
        let pid: pid_t
        switch started {
        case .success(let started):
            pid = started
            WorkerLimits(memory: 256 << 20).apply(to: pid)
        case .failure(let error): throw failure("it can't be started: \(error.reason)")
        }
        var collected = PipeCollector(
            descriptors: [link.read, output.read], limits: [Self.maxManifest, Self.maxOutput])
        let isComplete = collected.collect(until: .now + timeout)
        if !isComplete { ProcessSpawn.killGroup(pid) }
        let status = reap(pid)
        let (manifest, printed) = (collected.bytes[0], collected.bytes[1])
        let report = printed.isEmpty ? "It printed nothing." : "It printed: \(Self.excerpt(printed))"
        guard isComplete else {
            throw failure(
                "it wrote no manifest within \(timeout.components.seconds) s and was killed. \(report)")
        }
        guard case .exited(0) = status.outcome else {
            throw failure("it ended with \(status) instead of writing a manifest. \(report)")
        }
        guard !manifest.isEmpty else {
            throw failure("it wrote no manifest; it must be an executable whose @main is a FunctionBundle. \(report)")
        }
        return try decode(manifest, failure)
    }

    private func decode(_ bytes: [UInt8], _ failure: (String) -> BundleError) throws -> Manifest {
        struct Version: Decodable { var protocolVersion: Int }
        let decoder = JSONDecoder()
        let data = Data(bytes)
        if let version = try? decoder.decode(Version.self, from: data).protocolVersion,
            !Manifest.servedVersions.contains(version)
        {
            throw failure(
                "it uses version \(version) of the worker protocol, and this host serves "
                    + "\(Manifest.servedWords); build both with the same release of FunctionsRuntime")
        }
        let manifest: Manifest
        do {
            manifest = try decoder.decode(Manifest.self, from: data)
        } catch {
            throw failure("it wrote an invalid manifest: \(Self.excerpt(bytes))")
        }
        let problems = manifest.problems
        guard problems.isEmpty else { throw failure(problems.map(\.description).joined(separator: "; ")) }
        return manifest
    }

    /// Reaps a process that has closed its output or was killed.
    private func reap(_ pid: pid_t) -> ProcessStatus {
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            if let status = ProcessStatus.reap(pid) { return status }
            if ContinuousClock.now > deadline { ProcessSpawn.killGroup(pid) }
            usleep(1000)
        }
    }

    private static func excerpt(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.prefix(400), as: UTF8.self)
        return "«\(text.split(whereSeparator: \.isNewline).joined(separator: " ⏎ "))\(bytes.count > 400 ? "…" : "")»"
    }
}

/// The reason why a bundle can't be served.
struct BundleError: Error, Equatable, CustomStringConvertible {
    var executable: String
    var reason: String

    var description: String { "the bundle \(executable) can't be served: \(reason)" }
}

/// Reads several pipes at once until all are closed, keeping a bounded part of each.
private struct PipeCollector {
    private var descriptors: [Int32]
    private let limits: [Int]
    private(set) var bytes: [[UInt8]]

    init(descriptors: [Int32], limits: [Int]) {
        self.descriptors = descriptors
        self.limits = limits
        bytes = descriptors.map { _ in [] }
    }

    /// - Returns: whether all pipes were closed before the deadline.
    mutating func collect(until deadline: ContinuousClock.Instant) -> Bool {
        var open = Set(descriptors.indices)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !open.isEmpty {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            let order = Array(open)
            var polls = order.map { pollfd(fd: descriptors[$0], events: Int16(POLLIN), revents: 0) }
            let milliseconds = Int32(
                clamping: left.components.seconds * 1000 + 1 + left.components.attoseconds / 1_000_000_000_000_000)
            guard poll(&polls, nfds_t(polls.count), milliseconds) >= 0 || errno == EINTR else { return false }
            for (index, entry) in zip(order, polls) where entry.revents != 0 {
                let count = read(descriptors[index], &buffer, buffer.count)
                if count > 0 {
                    let room = limits[index] - bytes[index].count
                    bytes[index].append(contentsOf: buffer[..<min(count, max(0, room))])
                } else if count == 0 || errno != EINTR {
                    open.remove(index)
                }
            }
        }
        return true
    }
}
