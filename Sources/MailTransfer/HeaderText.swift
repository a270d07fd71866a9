import TextFormats

/// Values of headers: on one line each, or folded, whatever a user may have written into them.
enum HeaderText {
    /// Beyond ASCII, or too long for a line, the text is encoded (RFC 2047).
    static func unstructured(_ text: String) -> String {
        let text = printable(text)
        guard isPlain(text), text.utf8.count <= 60, !text.contains("=?") else { return encodedWords(text) }
        return text
    }

    static func mailbox(_ address: MailAddress) -> String {
        guard let name = address.name.map(printable), !name.isEmpty else { return "<\(address.address)>" }
        guard isPlain(name), name.utf8.count <= 60, !name.contains("=?") else {
            return encodedWords(name) + " <\(address.address)>"
        }
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(quoted)\" <\(address.address)>"
    }

    /// Without control characters, which would end the header.
    private static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(
                scalar.properties.generalCategory == .control || scalar.properties.isWhitespace ? " " : scalar)
        }
        return String(scalars)
    }

    private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (32...126).contains($0) } }

    /// Each word has whole characters of the text, and fits into a line with the header's name.
    private static func encodedWords(_ text: String) -> String {
        let mostBytes = 39
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > mostBytes { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Base64.encode($0))?=" }.joined(separator: "\r\n ")
    }

    /// - Parameter time: Seconds since 1970.
    /// - Returns: such as `Thu, 26 Nov 2026 02:10:44 +0000`.
    static func date(_ time: Int64) -> String {
        let time = min(max(time, 0), 253_402_300_799)
        let (days, second) = (time / 86_400, time % 86_400)
        // Counted in years that begin in March, in eras of 400 years.
        let shifted = days + 719_468
        let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
        let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        return "\(weekdays[Int(days % 7)]), \(day) \(months[Int(month)]) \(year) \(clock) +0000"
    }
}
