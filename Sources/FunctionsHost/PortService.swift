import HostConfiguration
import HostProcess
import Hummingbird
import NIOCore
import ServiceLifecycle

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server on a port, which reports a failure to bind it in a sentence for the operator.
struct PortService<Application: ApplicationProtocol>: Service, CustomStringConvertible {
    let application: Application
    let port: Int
    let name: String
    let configuration: HostConfiguration

    /// As it is logged with `--verbose`: the configuration contains the values of params.
    var description: String { "the \(name) port" }

    func run() async throws {
        do {
            try await application.run()
        } catch {
            throw HostError.listening(on: port, name: name, configuration, error)
        }
    }
}

extension HostError {
    static func listening(
        on port: Int, name: String, _ configuration: HostConfiguration, _ error: any Error
    ) -> HostError {
        let place = "\(configuration.listen.host):\(port)"
        let change = "change listen.\(name) in \(configuration.places.file)"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            return HostError("the \(name) address \(place) is taken by another program; stop it, or \(change)")
        case EACCES:
            return HostError("this user may not listen on \(place); use a port above 1023: \(change)")
        case EADDRNOTAVAIL:
            return HostError("this machine has no address \(configuration.listen.host); change listen.host")
        default:
            return HostError("the host can't listen on \(place): \(error)")
        }
    }
}
