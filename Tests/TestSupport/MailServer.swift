package import NIOCore
import NIOPosix
import Synchronization

/// A server that takes mails by SMTP, as strict as a real one with the commands that it knows.
package final class MailServer: Sendable {
    /// A mail that was accepted, or that the client believes to be lost.
    package struct Mail: Sendable {
        package var from: String
        package var to: [String]
        /// The message as it was sent, without the dots that SMTP adds.
        package var message: String
        /// `user password`; nil without a login.
        package var login: String?
        package var isEncrypted: Bool
    }

    /// How the server treats its clients.
    package struct Behaviour: Sendable {
        /// Whether a login is required, and the one that is good: `user password`.
        package var login: String?
        /// The replies to whole messages, one after the other; an empty one closes the connection. Then `250 OK`.
        package var replies: [String] = []
        /// The replies to `RCPT TO`, by address.
        package var refused: [String: String] = [:]
        /// Makes the handler of TLS; nil for a server without.
        package var tls: (@Sendable () throws -> any ChannelHandler)?
        /// Whether TLS begins with the first byte, and not with STARTTLS.
        package var isImplicit = false

        package init() {}
    }

    package let port: Int
    private let behaviour: Behaviour
    private let replies: Mutex<[String]>
    private let mails = Mutex<[Mail]>([])
    private let arrivals = AsyncStream<Mail>.makeStream()

    private init(_ behaviour: Behaviour, port: Int) {
        self.behaviour = behaviour
        self.port = port
        replies = Mutex(behaviour.replies)
    }

    /// All mails whose text has arrived, whatever the reply.
    package var received: [Mail] { mails.withLock { $0 } }

    /// The next mail whose text arrives; each has one waiter.
    package func next() async -> Mail? {
        var iterator = arrivals.stream.makeAsyncIterator()
        return await iterator.next()
    }

    /// Serves while a body runs.
    package static func run<Result: Sendable>(
        _ behaviour: Behaviour = Behaviour(), body: @Sendable (MailServer) async throws -> Result
    ) async throws -> Result {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if behaviour.isImplicit, let tls = behaviour.tls {
                        try channel.pipeline.syncOperations.addHandler(tls())
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        guard let port = listener.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        let server = MailServer(behaviour, port: port)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await listener.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { connections in
                        for try await client in clients {
                            connections.addTask { try? await server.serve(client) }
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await body(server)
        }
    }

    private func serve(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>) async throws {
        let channel = client.channel
        try await client.executeThenClose { inbound, outbound in
            var lines = Lines(inbound.makeAsyncIterator())
            var isEncrypted = behaviour.isImplicit
            var login: String?
            var (from, to) = ("", [String]())
            func reply(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text + "\r\n")) }
            try await reply("220 mail.test ready")
            while let line = try await lines.next() {
                let command = line.split(separator: " ").first.map { $0.uppercased() } ?? ""
                switch command {
                case "EHLO":
                    var features = ["mail.test", "8BITMIME", "SIZE 1000000"]
                    if behaviour.tls != nil, !isEncrypted { features.append("STARTTLS") }
                    if behaviour.login != nil { features.append("AUTH PLAIN") }
                    for feature in features.dropLast() { try await reply("250-" + feature) }
                    try await reply("250 " + features[features.count - 1])
                case "STARTTLS":
                    guard let tls = behaviour.tls, !isEncrypted else {
                        try await reply("502 not here")
                        continue
                    }
                    // In one turn of the loop, before the client's next bytes are read.
                    try await channel.eventLoop.submit {
                        channel.writeAndFlush(ByteBuffer(string: "220 go ahead\r\n"), promise: nil)
                        try channel.pipeline.syncOperations.addHandler(tls(), position: .first)
                    }.get()
                    isEncrypted = true
                case "AUTH":
                    var words = line.split(separator: " ").map(String.init)
                    if words.count == 2 {
                        try await reply("334 ")
                        words.append(try await lines.next() ?? "")
                    }
                    login = Self.decoded(words[2]).split(separator: "\0").suffix(2).joined(separator: " ")
                    try await reply(login == behaviour.login ? "235 welcome" : "535 5.7.8 wrong password")
                    if login != behaviour.login { login = nil }
                case "MAIL":
                    guard behaviour.login == nil || login != nil else {
                        try await reply("530 5.7.0 log in first")
                        continue
                    }
                    from = Self.address(line)
                    to = []
                    try await reply("250 OK")
                case "RCPT":
                    let address = Self.address(line)
                    if let refusal = behaviour.refused[address] {
                        try await reply(refusal)
                    } else {
                        to.append(address)
                        try await reply("250 OK")
                    }
                case "DATA":
                    try await reply("354 send it")
                    var message = ""
                    while let line = try await lines.next(), line != "." {
                        message += (line.hasPrefix(".") ? String(line.dropFirst()) : line) + "\r\n"
                    }
                    let mail = Mail(from: from, to: to, message: message, login: login, isEncrypted: isEncrypted)
                    mails.withLock { $0.append(mail) }
                    let answer = replies.withLock { $0.isEmpty ? "250 OK" : $0.removeFirst() }
                    arrivals.continuation.yield(mail)
                    guard !answer.isEmpty else { return }
                    try await reply(answer)
                case "QUIT":
                    try await reply("221 bye")
                    return
                default: try await reply("502 not known")
                }
            }
        }
    }

    private static func address(_ line: String) -> String {
        guard let start = line.firstIndex(of: "<"), let end = line.firstIndex(of: ">") else { return "" }
        return String(line[line.index(after: start)..<end])
    }

    private static func decoded(_ base64: String) -> String {
        var (bytes, bits, count) = ([UInt8](), UInt32(0), 0)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        for character in base64 {
            guard let value = alphabet.firstIndex(of: character) else { break }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Lines without their ends.
    private struct Lines {
        private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var buffer = ByteBuffer()

        init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) { self.inbound = inbound }

        mutating func next() async throws -> String? {
            while true {
                if let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                    let text = buffer.readString(length: end - buffer.readerIndex + 1) ?? ""
                    // A line end of CR LF is one character.
                    return String(text.dropLast())
                }
                guard var part = try await inbound.next() else { return nil }
                buffer.writeBuffer(&part)
            }
        }
    }
}

extension MailServer.Mail {
    /// The headers before a blank line, with folded lines joined.
    package var headers: String {
        let end = message.firstRange(of: "\r\n\r\n")?.lowerBound ?? message.endIndex
        return String(message[..<end]).replacing("\r\n ", with: " ")
    }

    /// All parts, without their transfer encoding.
    package var text: String {
        var bytes: [UInt8] = []
        let source = Array(message.replacing("=\r\n", with: "").utf8)
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "="), index + 2 < source.count,
                let byte = UInt8(String(decoding: source[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                bytes.append(byte)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
