import DocumentModel
import Logging
import NIOCore
import NIOPosix
import Synchronization
import WorkerProtocol

/// One process of a release that runs one function.
///
/// A thread of its own carries the links, so that no handler, however it blocks or spins, keeps the worker from reading
/// them. Handlers run on Swift's own threads.
enum Worker {
    /// Serves the function until the host closes the links. Doesn't return.
    static func run(_ function: Function) -> Never {
        ProcessControl.dieWithHost()
        ProcessControl.ignoreBrokenPipes()
        ProcessControl.writeOutputByLine()
        let descriptors = WorkerEnvironment.linkDescriptors
        guard !descriptors.isEmpty else {
            StandardError.write("a worker is started by functions-host, which gives it its links\n")
            ProcessControl.exit(64)
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let database = DatabaseID(project: ProcessControl.environment("GCLOUD_PROJECT") ?? "")
        let links = LinkSet()
        LoggingSystem.bootstrap { label in InvocationLogHandler(label: label, fallback: links) }
        let setup = loop.flatSubmit {
            EventLoopFuture.andAllSucceed(
                descriptors.map { descriptor in
                    ClientBootstrap(group: loop)
                        // The link reads on while one frame is being handled; 64 KiB carry many frames.
                        .channelOption(
                            .recvAllocator,
                            value: AdaptiveRecvByteBufferAllocator(
                                minimum: 4096, initial: 16_384, maximum: 1_048_576)
                        )
                        .channelInitializer { channel in
                            channel.eventLoop.makeCompletedFuture {
                                let writer = LinkWriter(channel: channel)
                                links.add(writer)
                                try channel.pipeline.syncOperations.addHandler(
                                    WorkerLinkHandler(function: function, database: database, writer: writer))
                            }
                        }
                        .withConnectedSocket(descriptor)
                        .map { _ in }
                }, on: loop)
        }
        do {
            try setup.wait()
        } catch {
            StandardError.write("the links can't be opened: \(error)\n")
            ProcessControl.exit(71)
        }
        ProcessControl.park()
    }
}

/// The worker's links, for lines that belong to no invocation.
final class LinkSet: Sendable {
    private let writers = Mutex<[LinkWriter]>([])

    func add(_ writer: LinkWriter) { writers.withLock { $0.append(writer) } }

    var first: LinkWriter? { writers.withLock { $0.first } }
}
