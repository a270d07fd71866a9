import Foundation
@testable import IdentityProvider
import TestSupport
import Testing
import TextFormats
import UserStore

@Suite struct MailTemplateTests {
    private static func content(
        _ kind: MailAction.Kind = .passwordReset, name: String? = nil, language: String = "en"
    ) -> MailContent {
        MailContent(
            kind, to: "ada@example.com", link: "https://auth.example.com/?a=1&b=2", email: "ada@example.com",
            newEmail: "new@example.com", displayName: name, language: language)
    }

    private static func composer(_ files: [String: String] = [:]) throws -> MailComposer {
        let directory = try TemporaryDirectory()
        for (name, text) in files { try directory.write(name, text) }
        return MailComposer(
            from: MailAddress("noreply@shop.example.com", name: "A & B"),
            templates: try MailTemplates(directory: directory.path), project: "shop-prod")
    }

    @Test(arguments: MailAction.Kind.allCases) func eachKindHasABuiltInTemplate(kind: MailAction.Kind) throws {
        let mail = try Self.composer().mail(Self.content(kind, name: "Click http://evil.example"))
        #expect(mail.subject.contains("A & B"))
        #expect(mail.text.contains("\n\nhttps://auth.example.com/?a=1&b=2\n\n"))
        #expect(mail.html?.contains("<a href=\"https://auth.example.com/?a=1&amp;b=2\">") == true)
        #expect(mail.text.contains("ada@example.com"))
        // Anyone can sign up with another's address and any name.
        #expect(!mail.text.contains("evil.example"))
        #expect(!"\(mail)".contains("%"))
        #expect(MailComposer(project: "shop-prod").mail(Self.content(kind)).subject.contains("shop-prod"))
    }

    @Test func aTeamReplacesTemplatesByLanguage() throws {
        let composer = try Self.composer([
            "resetPassword.txt": "Subject: Reset for %EMAIL%\n\nHi %DISPLAY_NAME%,\n%LINK%\n",
            "resetPassword.html": "<p title='%DISPLAY_NAME%'>%LINK%</p>",
            "resetPassword.de.txt": "subject: Zurücksetzen\r\n\r\n100% %LINK%",
            "resetPassword.de-ch.txt": "Subject: Grüezi\n%LINK%", "verifyEmail.fr.txt": "Subject: Bonjour\n%LINK%",
            "README.md": "not a template", ".DS_Store": "",
        ])
        func mail(_ language: String, name: String? = nil) -> MailTemplate.Filled {
            composer.mail(Self.content(name: name, language: language))
        }
        let english = mail("en", name: "<b>'Ada'\r\nBcc: x")
        #expect(english.subject == "Reset for ada@example.com")
        #expect(english.text == "Hi <b>'Ada'  Bcc: x,\nhttps://auth.example.com/?a=1&b=2\n")
        #expect(
            english.html
                == "<p title='&lt;b&gt;&#39;Ada&#39;  Bcc: x'>https://auth.example.com/?a=1&amp;b=2</p>")
        // Each of these ends a line.
        for end in ["\n", "\u{b}", "\u{c}", "\r", "\u{85}", "\u{2028}", "\u{2029}"] {
            let filled = mail("en", name: "Ada\(end)Bcc: x")
            #expect(filled.text == "Hi Ada Bcc: x,\nhttps://auth.example.com/?a=1&b=2\n")
            #expect(filled.html?.contains(where: \.isNewline) == false)
        }
        #expect(mail("de").text == "100% https://auth.example.com/?a=1&b=2")
        #expect(mail("de").html == nil)
        #expect(mail("de-AT").subject == "Zurücksetzen")
        #expect(mail("de_CH").subject == "Grüezi")
        #expect(mail("fr").subject == "Reset for ada@example.com")
        #expect(composer.mail(Self.content(.verifyEmail, language: "fr")).subject == "Bonjour")
        #expect(composer.mail(Self.content(.verifyEmail)).subject == "Verify your email address for A & B")
    }

    @Test(arguments: [
        ("resetPassword.txt", "Hi\n%LINK%", ":1: the first line is not the subject"),
        ("resetPassword.txt", "Subject:\n%LINK%", ":1: the subject is empty"),
        ("resetPassword.txt", "", ":1: the first line is not the subject"),
        (
            "resetPassword.txt", "Subject: Hi\n\n\n%LINK%\n%LNK%",
            ":5: %LNK% has no value here; there are %LINK%, %EMAIL%"
        ),
        ("resetPassword.txt", "Subject: Hi\n%LINK% %NEW_EMAIL%", ":2: %NEW_EMAIL% has no value here"),
        ("resetPassword.txt", "Subject: %LINK%\n%LINK%", ":1: %LINK% has no value here"),
        ("resetPassword.txt", "Subject: Hi\nHello", ": %LINK% is missing"),
        ("resetPassword.html", "%LINK%", ": its text, with the subject, is missing"),
        ("resetPasword.txt", "", ": there is no mail with this name; did you mean \"resetPassword\"?"),
        ("resetPassword.d.e.txt", "", ": this is not a template's name"),
        ("resetPassword.de.html", "<p>\n%LINK%", ": its text, with the subject, is missing"),
    ]) func mistakesAreNamed(file: String, text: String, message: String) throws {
        do {
            _ = try Self.composer([file: text])
            Issue.record("it was accepted")
        } catch let error as MailTemplateError {
            #expect(error.description.contains("/" + file + message), "\(error)")
        }
    }

    @Test func anHTMLMistakeNamesItsLine() throws {
        do {
            _ = try Self.composer([
                "verifyEmail.txt": "Subject: Hi\n%LINK%", "verifyEmail.html": "<p>\n%LINK%\n%FOO%</p>",
            ])
            Issue.record("it was accepted")
        } catch let error as MailTemplateError {
            #expect(error.line == 3)
        }
    }
}
