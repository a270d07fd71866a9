import DocumentModel
package import HostProcess
import OutboundHTTP
import TokenVerification

extension RemoteFirestore {
    /// Connects to the documents that the environment selects.
    ///
    /// With `FIRESTORE_EMULATOR_HOST` these are at that address, without encryption and as the owner. Otherwise they
    /// are in Cloud Firestore, as the service account of ``AccessTokens/init(environment:transport:now:)``.
    ///
    /// - Throws: if `FIRESTORE_EMULATOR_HOST` is not a host and port, or the key file can't be used.
    package static func fromEnvironment(
        project: String, environment: [String: String]
    ) throws(HostError) -> RemoteFirestore {
        let transport = OutboundClient()
        let database = DatabaseID(project: project)
        let pause: FirestoreService.Pause = { seconds in try? await Task.sleep(for: .seconds(seconds)) }
        let origin: String
        var tokens: AccessTokens?
        if let emulator = environment["FIRESTORE_EMULATOR_HOST"], !emulator.isEmpty {
            guard HostAndPort.isValid(emulator) else {
                throw HostError(
                    "FIRESTORE_EMULATOR_HOST is \"\(emulator)\", which is not a host and port such as "
                        + "127.0.0.1:8080")
            }
            origin = "http://\(emulator)"
        } else {
            origin = "https://firestore.googleapis.com"
            tokens = try AccessTokens(environment: environment, transport: transport)
        }
        return RemoteFirestore(
            service: FirestoreService(
                database: database, origin: origin, transport: transport, tokens: tokens, pause: pause),
            now: Timestamp.wallClock)
    }
}
