import FirestoreClient
import Foundation
package import HostProcess
import OutboundHTTP
import StrictJSON
package import WorkerProtocol

extension RemoteDatabases {
    /// Connects to the databases that the environment selects.
    ///
    /// With `FIREBASE_DATABASE_EMULATOR_HOST` these are at that address, without encryption and as the owner. Otherwise the
    /// project's own is at the `databaseURL` of `FIREBASE_CONFIG`, or at `DATABASE_URL`, and is reached as the service
    /// account of ``AccessTokens``.
    ///
    /// - Returns: databases that refuse every operation, with what to set, if none is selected.
    /// - Throws: an error for the operator if a variable or the key file can't be used.
    package static func fromEnvironment(
        project: String, environment: [String: String]
    ) throws(HostError) -> any DatabaseBackend {
        let transport = OutboundClient()
        return try fromEnvironment(
            project: project, environment: environment, transport: transport, streams: OutboundClient()
        ) { seconds in try? await Task.sleep(for: .seconds(seconds)) }
    }

    static func fromEnvironment(
        project: String, environment: [String: String], transport: any OutboundTransport,
        streams: any OutboundTransport, pause: @escaping DatabaseService.Pause
    ) throws(HostError) -> any DatabaseBackend {
        let emulator = environment["FIREBASE_DATABASE_EMULATOR_HOST"] ?? ""
        var location = try location(project: project, environment)
        var tokens: AccessTokens?
        if !emulator.isEmpty {
            guard HostAndPort.isValid(emulator) else {
                throw HostError(
                    "FIREBASE_DATABASE_EMULATOR_HOST is \"\(emulator)\", which is not a host and port such as "
                        + "127.0.0.1:9000")
            }
            location = DatabaseLocation(emulator: emulator, own: location?.own ?? "\(project)-default-rtdb")
        } else if location != nil {
            tokens = try AccessTokens(for: .realtimeDatabase, environment: environment, transport: transport)
        }
        guard let location else {
            return UnavailableDatabases(
                "it isn't known where the Realtime Database is: set DATABASE_URL to its address, such as "
                    + "https://\(project)-default-rtdb.firebaseio.com, or FIREBASE_DATABASE_EMULATOR_HOST to the address of an "
                    + "emulator or a functions-host")
        }
        return RemoteDatabases(
            DatabaseService(location: location, transport: transport, streams: streams, tokens: tokens, pause: pause))
    }

    /// The address in the environment; nil if there is none.
    private static func location(
        project: String, _ environment: [String: String]
    ) throws(HostError) -> DatabaseLocation? {
        let own = "\(project)-default-rtdb"
        if let url = try configuredURL(environment["FIREBASE_CONFIG"] ?? "") {
            return try DatabaseLocation(url: url, from: "FIREBASE_CONFIG", own: own)
        }
        guard let url = environment["DATABASE_URL"], !url.isEmpty else { return nil }
        return try DatabaseLocation(url: url, from: "DATABASE_URL", own: own)
    }

    /// The `databaseURL` of `FIREBASE_CONFIG`, which is JSON or the path of a file with it.
    private static func configuredURL(_ text: String) throws(HostError) -> String? {
        guard !text.isEmpty else { return nil }
        var json = Array(text.utf8)
        if !text.hasPrefix("{") {
            guard let data = FileManager.default.contents(atPath: text) else {
                throw HostError("FIREBASE_CONFIG is neither JSON nor the path of a file that can be read")
            }
            json = Array(data)
        }
        guard let config = try? JSONValue(parsing: json) else { throw HostError("FIREBASE_CONFIG isn't JSON") }
        return config["databaseURL"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension AccessTokens.Purpose {
    static let realtimeDatabase = AccessTokens.Purpose(
        scopes: [
            "https://www.googleapis.com/auth/firebase.database", "https://www.googleapis.com/auth/userinfo.email",
        ],
        emulatorVariable: "FIREBASE_DATABASE_EMULATOR_HOST")
}
