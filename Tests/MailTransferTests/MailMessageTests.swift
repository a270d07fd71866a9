import Foundation
@testable import MailTransfer
import Testing
import TextFormats

@Suite struct MailMessageTests {
    private static func mail(
        subject: String = "Hello", name: String? = "Shop", text: String = "Hi\n", html: String? = nil
    ) throws -> MailMessage {
        MailMessage(
            id: "0a1b", from: try #require(MailAddress("noreply@shop.example.com", name: name)),
            to: try #require(MailAddress("ada@example.com")), subject: subject, text: text, html: html,
            date: 1_795_659_044)
    }

    private static func text(_ mail: MailMessage) -> String { String(decoding: mail.bytes, as: UTF8.self) }

    @Test func aMailHasItsHeadersAndBothTexts() throws {
        var mail = try Self.mail(text: "Grüße\nof = all", html: "<p>Grüße</p>")
        mail.replyTo = MailAddress("help@shop.example.com")
        #expect(
            Self.text(mail)
                == """
                Date: Thu, 26 Nov 2026 02:10:44 +0000
                From: "Shop" <noreply@shop.example.com>
                To: <ada@example.com>
                Reply-To: <help@shop.example.com>
                Subject: Hello
                Message-ID: <0a1b@shop.example.com>
                Auto-Submitted: auto-generated
                MIME-Version: 1.0
                Content-Type: multipart/alternative; boundary="=_0a1b"

                --=_0a1b
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: quoted-printable

                Gr=C3=BC=C3=9Fe
                of =3D all
                --=_0a1b
                Content-Type: text/html; charset=utf-8
                Content-Transfer-Encoding: quoted-printable

                <p>Gr=C3=BC=C3=9Fe</p>
                --=_0a1b--

                """.replacing("\n", with: "\r\n"))
        #expect(mail.bytes == mail.bytes)
        let plain = Self.text(try Self.mail())
        #expect(plain.hasSuffix("\r\n\r\nHi\r\n\r\n"))
        #expect(!plain.contains("multipart"))
    }

    @Test(arguments: [
        "Hello\r\nBcc: eve@example.com", "Hello\nBcc: eve@example.com", "Hello\rBcc: eve@example.com",
        "Hello\u{2028}Bcc: eve@example.com", "Hello\u{85}\r\n\r\nbody", "Hello\0",
    ]) func noTextAddsAHeader(text: String) throws {
        let message = Self.text(try Self.mail(subject: text))
        let lines = message.components(separatedBy: "\r\n")
        #expect(!lines.contains { $0.hasPrefix("Bcc") })
        #expect(lines.firstIndex(of: "") == lines.firstIndex { $0.hasPrefix("Content-Transfer") }.map { $0 + 1 })
        #expect(message.unicodeScalars.allSatisfy { $0.value >= 32 || $0 == "\r" || $0 == "\n" })
        #expect(MailAddress("ada@example.com", name: text) == nil || text.contains("\u{2028}"))
    }

    @Test func headersBeyondASCIIAreEncodedAndFolded() throws {
        let subject = String(repeating: "Grüße aus Köln 👋 ", count: 12)
        let message = Self.text(try Self.mail(subject: subject, name: "Läden"))
        let lines = message.components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 78 && $0.utf8.allSatisfy { $0 < 128 } })
        #expect(message.contains("From: =?utf-8?B?TMOkZGVu?= <noreply@shop.example.com>"))
        let words = message.matches(of: /=\?utf-8\?B\?([^?]*)\?=/).dropFirst().compactMap { Base64.decode($0.1) }
        #expect(String(decoding: words.joined(), as: UTF8.self) == subject)
        #expect(Self.text(try Self.mail(name: "Shop, \"Inc.\"")).contains(#"From: "Shop, \"Inc.\"" <"#))
        #expect(Self.text(try Self.mail(subject: "=?utf-8?Q?x?=")).contains("Subject: =?utf-8?B?"))
    }

    @Test func longLinesAreBrokenAndSpacesAtTheirEndsKept() throws {
        let line = String(repeating: "a=ü ", count: 100)
        let encoded = QuotedPrintable.encode("\(line)\r\nend \t\n.\nFrom x")
        let lines = encoded.components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        #expect(lines.suffix(3) == ["end =09", ".", "From x"])
        let joined = encoded.replacing("=\r\n", with: "")
        #expect(joined.hasPrefix("a=3D=C3=BC a=3D"))
        #expect(joined.components(separatedBy: "\r\n")[0].hasSuffix("=3D=C3=BC=20"))
    }

    @Test(arguments: [
        (0, "Thu, 1 Jan 1970 00:00:00 +0000"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"),
        (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 +0000"), (4_107_542_400, "Mon, 1 Mar 2100 00:00:00 +0000"),
        (-5, "Thu, 1 Jan 1970 00:00:00 +0000"),
    ]) func datesAreThoseOfTheCalendar(time: Int64, text: String) { #expect(HeaderText.date(time) == text) }
}
