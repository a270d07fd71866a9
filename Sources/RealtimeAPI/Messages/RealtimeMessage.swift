import RealtimeModel
import StrictJSON

/// A message of a client: a control, or a request with its number.
enum RealtimeMessage: Equatable, Sendable {
    /// `p`: the client asks for an answer.
    case ping
    /// `n`: nothing more comes by this transport.
    case endOfTransmission
    /// `a`: the client goes on by the WebSocket that it has opened for a session of long polling.
    case switchTransport
    /// A control that needs no answer.
    case otherControl
    case request(number: Int64, RealtimeRequest)
    /// The message isn't one of the protocol. The connection ends.
    case invalid
}

extension RealtimeMessage {
    /// Reads a message. Its members may come in any order; unknown ones are ignored.
    init(parsing bytes: UnsafeRawBufferPointer) {
        guard let parts = try? MessageMembers(text: bytes), let kind = parts.string("t"), let data = parts["d"] else {
            self = .invalid
            return
        }
        switch kind {
        case "c": self.init(control: data)
        case "d": self.init(data: data)
        default: self = .invalid
        }
    }

    private init(control: UnsafeRawBufferPointer) {
        guard let members = try? MessageMembers(text: control), let kind = members.string("t") else {
            self = .invalid
            return
        }
        switch kind {
        case "p": self = .ping
        case "n": self = .endOfTransmission
        case "a": self = .switchTransport
        default: self = .otherControl
        }
    }

    private init(data: UnsafeRawBufferPointer) {
        guard let members = try? MessageMembers(text: data), let number = members.integer("r") else {
            self = .invalid
            return
        }
        guard let action = members.string("a") else {
            self = .request(number: number, .invalid(.failed("The request has no action.")))
            return
        }
        do throws(RealtimeServiceError) {
            self = .request(number: number, try RequestReader(members["b"]).request(action))
        } catch {
            self = .request(number: number, .invalid(error))
        }
    }
}

/// The members of a JSON object, as pieces of its text. The last of several with one name counts.
struct MessageMembers {
    private var members: [(name: String, value: UnsafeRawBufferPointer)] = []

    /// Objects of the protocol have fewer.
    private static let maxCount = 64

    /// - Parameter text: has the object and nothing else. It must stay valid.
    /// - Throws: if it isn't valid JSON, isn't an object, or has too many members.
    init(text: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(text)
        scanner.skipSpace()
        guard scanner.take(UInt8(ascii: "{")) else { throw JSONError(.notAValue, at: scanner.position) }
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) {
            try scanner.end()
            return
        }
        while true {
            scanner.skipSpace()
            guard scanner.peek() == UInt8(ascii: "\"") else { throw JSONError(.missingKey, at: scanner.position) }
            let name = try scanner.string()
            scanner.skipSpace()
            guard scanner.take(UInt8(ascii: ":")) else { throw JSONError(.missingColon, at: scanner.position) }
            scanner.skipSpace()
            let start = scanner.position
            try scanner.skipValue()
            guard members.count < Self.maxCount else { throw JSONError(.tooManyValues(Self.maxCount)) }
            members.append((name, UnsafeRawBufferPointer(rebasing: text[start..<scanner.position])))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else {
                throw JSONError(.missingMemberSeparator, at: scanner.position)
            }
            break
        }
        try scanner.end()
    }

    /// The text of a value; nil if there is none.
    subscript(name: StaticString) -> UnsafeRawBufferPointer? {
        members.last { member in name.withUTF8Buffer { $0.elementsEqual(member.name.utf8) } }?.value
    }

    func string(_ name: StaticString) -> String? {
        guard let text = self[name], text.first == UInt8(ascii: "\"") else { return nil }
        var scanner = JSONScanner(text)
        return try? scanner.string()
    }

    /// - Returns: nil if the string is missing.
    /// - Throws: if it has half of a surrogate pair.
    func pairedString(_ name: StaticString) throws(JSONError) -> String? {
        guard let text = self[name], text.first == UInt8(ascii: "\"") else { return nil }
        var scanner = JSONScanner(text)
        return try scanner.pairedString()
    }

    func integer(_ name: StaticString) -> Int64? {
        guard let text = self[name], let first = text.first, first != UInt8(ascii: "\"") else { return nil }
        var scanner = JSONScanner(text)
        guard case .integer(let value)? = try? scanner.number() else { return nil }
        return value
    }

    func isTrue(_ name: StaticString) -> Bool {
        self[name].map { $0.elementsEqual("true".utf8) } ?? false
    }

    /// A small value. Its depth is bounded by the parser.
    func value(_ name: StaticString) throws(JSONError) -> JSONValue? {
        guard let text = self[name] else { return nil }
        return try JSONValue(parsing: text, unwrappingIntegers: false)
    }
}

extension RealtimeMessage {
    /// Whether a message is the control `n`, which is for the transport and not for the session.
    static func isEndOfTransmission(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Others are longer than a control.
        guard bytes.count < 200, let parts = try? MessageMembers(text: bytes), parts.string("t") == "c" else {
            return false
        }
        return RealtimeMessage(parsing: bytes) == .endOfTransmission
    }
}
