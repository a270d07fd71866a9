package import Logging
package import NIOCore
import NIOSSL
import NIOTLS
import ServiceLifecycle
import Synchronization

/// The certificate of all ports. A changed one serves the connections that begin from then on, while `run()` is running.
package final class TLSPorts: Service {
    private let files: TLSFiles
    private let current: Mutex<TLSCredentials>
    private let loaded: TLSFiles.Content
    private let handshake: TimeAmount
    private let now: @Sendable () -> Int64
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// How often the files are looked at.
    private static let interval: Duration = .seconds(1)
    /// How long before its end a certificate is warned of.
    private static let warnBefore: Int64 = 7 * 86_400

    /// - Parameters:
    ///   - handshake: how long a client may take for it.
    ///   - now: seconds since 1970.
    ///   - clock: waits between two looks at the files.
    /// - Throws: what is wrong with the files.
    package init(
        _ files: TLSFiles, handshake: TimeAmount, now: @escaping @Sendable () -> Int64,
        clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) throws(TLSFilesError) {
        self.files = files
        self.handshake = handshake
        self.now = now
        self.clock = clock
        self.logger = logger
        loaded = files.read()
        let credentials = try files.load(loaded)
        current = Mutex(credentials)
        warn(of: credentials)
    }

    /// Makes a connection one of TLS. Call before its other handlers are added.
    package func secure(_ channel: any Channel, _ protocols: TLSProtocols) throws {
        guard let context = current.withLock({ $0.contexts[protocols] }) else { return }
        try channel.pipeline.syncOperations.addHandlers([
            PlainRequestGuard(), NIOSSLServerHandler(context: context), HandshakeDeadline(handshake),
        ])
    }

    package func run() async throws {
        try? await cancelWhenGracefulShutdown { try await self.watch() }
    }

    private func watch() async throws {
        var known = loaded
        var seen = loaded
        while true {
            try await clock.sleep(for: Self.interval)
            let content = files.read()
            // Two files can't be replaced at once: what has just changed is left for the next look.
            defer { seen = content }
            guard content == seen, content != known else { continue }
            known = content
            do throws(TLSFilesError) {
                let credentials = try files.load(content)
                current.withLock { $0 = credentials }
                logger.notice("the certificate has changed", metadata: ["tls.certificate": "\(files.certificate)"])
                warn(of: credentials)
            } catch {
                logger.error(
                    "the new certificate can't be used; the one before is used", metadata: ["error": "\(error)"])
            }
        }
    }

    private func warn(of credentials: TLSCredentials) {
        let left = credentials.expires - now()
        guard left < Self.warnBefore else { return }
        let metadata: Logger.Metadata = ["tls.certificate": "\(files.certificate)"]
        if left < 0 {
            logger.warning("the certificate has expired: clients refuse it", metadata: metadata)
        } else {
            logger.warning(
                "the certificate expires soon", metadata: metadata.merging(["tls.days": "\(left / 86_400)"]) { $1 })
        }
    }
}
