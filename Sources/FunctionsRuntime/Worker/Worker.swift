import Dispatch
import DocumentModel
import Logging
import Synchronization
import WorkerProtocol

/// One process of a release that runs one function.
///
/// A dedicated thread reads each link, so that a handler that blocks or spins doesn't keep the worker from receiving
/// frames. Handlers run on Swift's threads.
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
        let database = DatabaseID(project: ProcessControl.environment("GCLOUD_PROJECT") ?? "")
        let links = LinkSet()
        LoggingSystem.bootstrap { label in InvocationLogHandler(label: label, fallback: links) }
        ProcessControl.shutOnCrash(descriptors)
        for descriptor in descriptors {
            ProcessControl.closeOnExec(descriptor)
            let writer = LinkWriter(descriptor: descriptor)
            links.add(writer)
            let reader = LinkReader(descriptor: descriptor, function: function, database: database, writer: writer)
            guard ProcessControl.startThread({ reader.run() }) else {
                StandardError.write("a thread for the link can't be started\n")
                ProcessControl.exit(71)
            }
        }
        // The main thread runs the main actor, which a function may use.
        dispatchMain()
    }
}

/// The worker's links, for log lines that belong to no invocation.
final class LinkSet: Sendable {
    private let writers = Mutex<[LinkWriter]>([])

    func add(_ writer: LinkWriter) { writers.withLock { $0.append(writer) } }

    var first: LinkWriter? { writers.withLock { $0.first } }
}
