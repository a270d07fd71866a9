import DocumentModel
package import HostProcess
import OutboundHTTP
import TokenVerification

extension RemoteFirestore {
    /// Where the environment says that documents are: with `FIRESTORE_EMULATOR_HOST` at that address, without
    /// encryption and in the owner's name, else in Cloud Firestore, in the name of the service account that the metadata
    /// server gives tokens of. `GCE_METADATA_HOST` names another of these.
    ///
    /// - Throws: where `FIRESTORE_EMULATOR_HOST` is no host and port.
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
                    "FIRESTORE_EMULATOR_HOST is \"\(emulator)\", which is no host and port; write one such as "
                        + "127.0.0.1:8080")
            }
            origin = "http://\(emulator)"
        } else {
            origin = "https://firestore.googleapis.com"
            tokens = AccessTokens(
                host: environment["GCE_METADATA_HOST"].flatMap { $0.isEmpty ? nil : $0 } ?? "metadata.google.internal",
                transport: transport, now: systemWallClock)
        }
        return RemoteFirestore(
            service: FirestoreService(
                database: database, origin: origin, transport: transport, tokens: tokens, pause: pause),
            now: Timestamp.now)
    }
}
