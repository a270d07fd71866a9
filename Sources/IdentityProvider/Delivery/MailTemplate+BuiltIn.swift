import UserStore

extension MailTemplate {
    /// The template of a kind without one of the team's own. It has no name of a user, since strangers can choose theirs.
    static func builtIn(_ kind: MailAction.Kind) -> MailTemplate {
        let words = BuiltInWords(kind)
        let text = """
            Hello,

            \(words.request)

            %LINK%

            \(words.hint)

            Your %APP_NAME% team
            """
        let html = """
            <!DOCTYPE html>
            <html lang="en">
            <body style="font-family: sans-serif; line-height: 1.5">
            <p>Hello,</p>
            <p>\(words.request)</p>
            <p><a href="%LINK%">\(words.link)</a></p>
            <p>\(words.hint)</p>
            <p>Your %APP_NAME% team</p>
            </body>
            </html>
            """
        do throws(Mistake) {
            var template = try plain("Subject: \(words.subject)\n\n\(text)\n", kind)
            template.html = try Self.html(html, kind)
            return template
        } catch {
            preconditionFailure("the built-in template of \(kind) is invalid: \(error.message)")
        }
    }
}

private struct BuiltInWords {
    var subject: String
    var request: String
    var link: String
    var hint: String

    init(_ kind: MailAction.Kind) {
        switch kind {
        case .passwordReset:
            subject = "Reset your password for %APP_NAME%"
            request = "follow this link to choose a new password for your account %EMAIL%. It can be used for an hour."
            link = "Choose a new password"
            hint = "If you didn't ask for a new password, ignore this mail: your password stays as it is."
        case .verifyEmail:
            subject = "Verify your email address for %APP_NAME%"
            request = "follow this link to verify that %EMAIL% is your email address. It can be used for three days."
            link = "Verify the address"
            hint = "If you didn't ask for this, ignore this mail."
        case .verifyAndChangeEmail:
            subject = "Verify your new email address for %APP_NAME%"
            request =
                "follow this link to change the email address of your account from %EMAIL% to %NEW_EMAIL%. It can be used "
                + "for three days."
            link = "Change the address"
            hint = "If you didn't ask for this, ignore this mail: nothing changes."
        case .recoverEmail:
            subject = "Your email address for %APP_NAME% was changed"
            request =
                "the email address of your account isn't %EMAIL% any more, but %NEW_EMAIL%. If it wasn't you who changed it, "
                + "follow this link within 30 days to restore %EMAIL%, and then choose a new password."
            link = "Restore the address"
            hint = "If you have changed it yourself, there is nothing to do."
        case .emailSignIn:
            subject = "Sign in to %APP_NAME%"
            request = "follow this link to sign in as %EMAIL%. It can be used once, for six hours."
            link = "Sign in"
            hint = "If you didn't ask for this, ignore this mail."
        }
    }
}
