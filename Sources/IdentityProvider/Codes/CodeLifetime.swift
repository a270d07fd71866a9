import UserStore

/// How long codes are good, in seconds.
enum CodeLifetime {
    static let phone: Int64 = 600
    static let phoneProof: Int64 = 3600
    static let secondFactor: Int64 = 3600
    static let authenticator: Int64 = 1800

    static func mail(_ kind: MailAction.Kind) -> Int64 {
        switch kind {
        case .passwordReset: 3600
        case .emailSignIn: 6 * 3600
        case .verifyEmail, .verifyAndChangeEmail: 3 * 86_400
        // The owner of the old address may look late.
        case .recoverEmail: 30 * 86_400
        }
    }
}
