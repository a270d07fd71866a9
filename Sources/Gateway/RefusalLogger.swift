import WorkerProtocol
package import Logging
package import NIOCore
import Synchronization
import Workers

/// Logs refused requests, within the bounds of ``RefusalLog``.
package final class RefusalLogger: Sendable {
    private let logger: Logger
    private let bounds = Mutex(RefusalLog())

    package init(_ logger: Logger) { self.logger = logger }

    /// Logs that a request was refused, unless the caller has had many such lines in the last minute.
    ///
    /// - Parameter kind: of the lines, if the message has several.
    func log(
        _ message: StaticString, kind: @autoclosure () -> String? = nil, of caller: IPAddress?, level: Logger.Level,
        now: NIODeadline, _ metadata: @autoclosure () -> Logger.Metadata
    ) {
        log(
            message, kind: kind(), of: (caller?.holder).map { .address($0) }, level: level, now: now, metadata())
    }

    /// Likewise, for a caller that may be known by another name than its address.
    package func log(
        _ message: StaticString, kind: @autoclosure () -> String?, of caller: RefusedCaller?, level: Logger.Level,
        now: NIODeadline, _ metadata: @autoclosure () -> Logger.Metadata
    ) {
        guard logger.logLevel <= level,
            bounds.withLock({ $0.admits(kind() ?? "\(message)", of: caller, now: now) })
        else { return }
        logger.log(level: level, "\(message)", metadata: metadata())
    }

    /// Logs how many lines were left out in the minutes that are over. Call every few seconds: until then no more lines of
    /// these minutes' callers are logged.
    func logLeftOut(now: NIODeadline) {
        for (subject, count) in bounds.withLock({ $0.takeLeftOut(now: now) }) {
            logger.warning(
                "more requests were refused than are logged",
                metadata: ["kind": "\(subject.kind)", "left.out": "\(count)"])
        }
    }
}
