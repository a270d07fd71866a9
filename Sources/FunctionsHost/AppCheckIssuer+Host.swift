import AppCheck
import ControlAPI
import DataDirectory
import Deployments
import HostConfiguration
import TokenVerification

extension AppCheckIssuer {
    private static let minDebugTokenBytes = 20

    /// - Returns: nil if no app is configured.
    /// - Throws: an error for the operator if a debug token has no value, or the key can't be loaded.
    init?(_ configuration: HostConfiguration, directory: DataDirectory) throws {
        let apps = configuration.appCheck.apps
        guard !apps.isEmpty else { return nil }
        let secrets = try apps.contains { !$0.debugTokens.isEmpty } ? HostSecrets(configuration) : nil
        var registered: [String: App] = [:]
        for app in apps {
            let key = "appCheck.apps.\(app.id).debugTokens"
            registered[app.id] = App(
                lifetime: Int64(app.ttlSeconds),
                debugTokens: try app.debugTokens.compactMap { name in
                    let token = try secrets?.value(of: name, at: key)
                    guard token.map({ $0.utf8.count >= Self.minDebugTokenBytes }) ?? true else {
                        throw configuration.problem(
                            at: key,
                            "the secret \(name) can be guessed: a debug token has \(Self.minDebugTokenBytes) characters or more. "
                                + "Write what uuidgen prints")
                    }
                    return token
                })
        }
        self.init(
            project: configuration.project, projectNumber: configuration.auth.projectNumber,
            keys: try SigningKeys(in: directory.file(KeyAccess.appCheckDirectory)),
            apps: registered)
    }
}

extension AppCheckGate.Mode {
    init(_ mode: HostConfiguration.AppCheck.Mode) {
        self =
            switch mode {
            case .off: .off
            case .unenforced: .unenforced
            case .enforced: .enforced
            }
    }
}

/// The gates of the ports beside that of functions; nil for those that demand nothing.
struct AppCheckGates: Sendable {
    let firestore: AppCheckGate?
    let database: AppCheckGate?
    let auth: AppCheckGate?

    init(_ configuration: HostConfiguration.AppCheck, verifier: TokenVerifier) {
        func gate(_ mode: HostConfiguration.AppCheck.Mode, _ service: String) -> AppCheckGate? {
            guard mode != .off else { return nil }
            return AppCheckGate(
                AppCheckGate.Mode(mode), figures: AppCheckFigures(service: service), verifier: verifier)
        }
        firestore = gate(configuration.firestore, "firestore")
        database = gate(configuration.database, "database")
        auth = gate(configuration.auth, "auth")
    }
}
