package import TextFormats
import UserStore

/// Makes the texts of messages.
package struct MailComposer: Sendable {
    /// The sender; nil if the webhook knows it.
    let from: MailAddress?
    let replyTo: MailAddress?
    let templates: MailTemplates
    /// `%APP_NAME%`: the sender's name.
    let appName: String

    /// - Parameter project: the project's id, which stands for the app's name if the sender has no name.
    package init(
        from: MailAddress? = nil, replyTo: MailAddress? = nil, templates: MailTemplates = MailTemplates(),
        project: String
    ) {
        self.from = from
        self.replyTo = replyTo
        self.templates = templates
        appName = from?.name ?? project
    }

    func mail(_ content: MailContent) -> MailTemplate.Filled {
        templates.template(for: content.kind, language: content.language).filled([
            .link: content.link, .email: content.email, .newEmail: content.newEmail ?? "none", .appName: appName,
            .displayName: content.displayName ?? "",
        ])
    }
}
