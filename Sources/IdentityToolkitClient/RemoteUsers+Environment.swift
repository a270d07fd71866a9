import FirestoreClient
package import HostProcess
import OutboundHTTP
import TokenVerification

extension RemoteUsers {
    /// Connects to the users that the environment selects: with `FIREBASE_AUTH_EMULATOR_HOST` those of an emulator or a
    /// functions-host in development; otherwise those of Firebase Authentication, as the service account of
    /// ``AccessTokens/init(environment:transport:now:)``.
    ///
    /// - Throws: an error for the operator if the key file can't be used.
    package convenience init(project: String, environment: [String: String]) throws(HostError) {
        try self.init(project: project, environment: environment, transport: OutboundClient()) { seconds in
            try? await Task.sleep(for: .seconds(seconds))
        }
    }

    convenience init(
        project: String, environment: [String: String], transport: any OutboundTransport,
        now: @escaping WallClock = systemWallClock, pause: @escaping Pause
    ) throws(HostError) {
        if let emulator = environment["FIREBASE_AUTH_EMULATOR_HOST"], !emulator.isEmpty {
            self.init(
                project: project, origin: "http://\(emulator)/identitytoolkit.googleapis.com", transport: transport,
                tokens: nil, signer: CustomTokenSigner(key: .none, now: now), pause: pause)
            return
        }
        let tokens = try AccessTokens(environment: environment, transport: transport, now: now)
        let key: CustomTokenSigner.Key =
            if let file = try ServiceAccountFile(environment: environment) {
                .file(file)
            } else {
                .cloud(MetadataServer(environment, transport: transport), tokens, transport)
            }
        self.init(
            project: project, origin: "https://identitytoolkit.googleapis.com", transport: transport, tokens: tokens,
            signer: CustomTokenSigner(key: key, now: now), pause: pause)
    }
}
