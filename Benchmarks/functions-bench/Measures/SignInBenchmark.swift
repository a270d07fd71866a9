import Crypto
import Foundation
import NIOCore
import TextFormats
import TokenVerification
import _CryptoExtras

/// Measures sign-ups, refreshes and lookups beside the same reads and writes straight on SQLite, sign-ins with passwords
/// beside the hash alone, and the verification of tokens beside that of their signatures.
struct SignInBenchmark: Benchmark {
    static let name = "sign-in"
    private static let clients = 16
    private static let people = 200

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Sign-in, \(Self.clients) clients",
            notes: [
                "reference: the same reads and durable writes straight on SQLite in one process, without network and tokens",
                "of passwords and tokens: the hash, the signature and its verification alone, on one thread",
            ])
        let sqlite = try SQLiteSignIn(
            file: directory.appendingPathComponent("reference.sqlite"), clients: Self.clients)
        let unsigned = try folder("unsigned", in: directory)
        try await HostProcess.with([], in: unsigned) { host in
            try await measure(host, beside: sqlite, &section)
        }
        let signed = try folder("signed", in: directory)
        try await HostProcess.with([], settings: #""auth": { "signedTokens": true }"#, in: signed) { host in
            try await measureSigned(host, &section)
        }
        try measureVerification(&section)
        return section
    }

    private func measure(_ host: HostProcess, beside sqlite: SQLiteSignIn, _ section: inout Section) async throws {
        let requests = Requests(port: host.ports.auth)
        let oneSignUp = requests.post(Self.path("signUp"), #"{"returnSecureToken":true}"#)
        var (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load([oneSignUp], host))
            theirs.add(try sqlite.signUp(for: pace.length.measured))
        }
        section.add("anonymous sign-up", ours, beside: theirs)

        let people = try await signUp(host)
        let refreshes = people.map {
            requests.post(
                "/securetoken.googleapis.com/v1/token?key=bench",
                #"{"grantType":"refresh_token","refreshToken":"\#($0.refreshToken)"}"#)
        }
        (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load(refreshes, host))
            theirs.add(try sqlite.refresh(for: pace.length.measured))
        }
        section.add("refresh", ours, beside: theirs)

        let lookups = people.map { requests.post(Self.path("lookup"), #"{"idToken":"\#($0.idToken)"}"#) }
        (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load(lookups, host))
            theirs.add(try sqlite.lookUp(for: pace.length.measured))
        }
        section.add("lookup", ours, beside: theirs)

        let passwords = (0..<Self.clients).map {
            #"{"email":"p\#($0)@example.com","password":"correct horse","returnSecureToken":true}"#
        }
        let created = passwords.map { requests.post(Self.path("signUp"), $0) }
        try await Load.runToEnd(ListCaller.dealt(created, to: Self.clients), to: host.ports.auth).check()
        let signIns = passwords.map { requests.post(Self.path("signInWithPassword"), $0) }
        (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load(signIns, host))
            theirs.add(try repeated { _ = try Self.hash() })
        }
        section.add("password sign-in, scrypt with 32 MiB", ours, beside: theirs, cpu: .ratioAtMost(1.1))
    }

    private func measureSigned(_ host: HostProcess, _ section: inout Section) async throws {
        let requests = Requests(port: host.ports.auth)
        let refreshes = try await signUp(host).map {
            requests.post(
                "/securetoken.googleapis.com/v1/token?key=bench",
                #"{"grantType":"refresh_token","refreshToken":"\#($0.refreshToken)"}"#)
        }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let digest = SHA256.hash(data: Data("a token".utf8))
        var (ours, theirs) = (LoadReport(), LoadReport())
        for _ in 0..<pace.rounds {
            ours.add(try await load(refreshes, host))
            theirs.add(try repeated { _ = try key.signature(for: digest, padding: .insecurePKCS1v1_5) })
        }
        section.add("refresh with a signed token", ours, beside: theirs)
    }

    /// Tokens that weren't seen before, as the gateway verifies them.
    private func measureVerification(_ section: inout Section) throws {
        let project = HostProcess.project
        let key = try SigningKey(_RSA.Signing.PrivateKey(keySize: .bits2048), issued: systemWallClock())
        let now = systemWallClock()
        let tokens = try (0..<pace.count(4000, quick: 1000)).map { number in
            try key.sign(
                claims: Array(
                    """
                    {"iss":"https://securetoken.google.com/\(project)","aud":"\(project)","sub":"u\(number)",\
                    "user_id":"u\(number)","iat":\(now),"exp":\(now + 3600),"auth_time":\(now),\
                    "firebase":{"sign_in_provider":"anonymous","identities":{}}}
                    """.utf8))
        }
        let verifier = TokenVerifier(
            kind: .idToken(project: project), policy: .production, localKeys: LocalKeys(key.keys), remoteKeys: nil)
        let parts = tokens[0].split(separator: ".")
        let signed = Array((parts[0] + "." + parts[1]).utf8)
        guard let signature = Base64URL.decode(parts[2].utf8) else { throw LoadError("a token has no signature") }
        let publicKey = key.publicKey
        var (ours, theirs) = (LoadReport(), LoadReport())
        for round in 0..<pace.rounds {
            let share = tokens.count / pace.rounds
            ours.add(
                try timed(tokens[(round * share)..<((round + 1) * share)]) { token in
                    guard case .valid = verifier.verify(token) else { throw LoadError("a token is refused") }
                })
            theirs.add(
                try timed(0..<share) { _ in
                    let isValid = signed.withUnsafeBufferPointer { publicKey.isValid(signature, for: $0) }
                    guard isValid else { throw LoadError("the signature is refused") }
                })
        }
        section.add("verification of a new token, one thread", ours, beside: theirs, cpu: .ratioAtMost(1.5))
        let again = try timed(tokens.suffix(1000)) { _ = verifier.verify($0) }
        section.add("verification of a token seen before, one thread", again, beside: nil)
    }

    // MARK: Loads

    private func load(_ requests: [ByteBuffer], _ host: HostProcess) async throws -> LoadReport {
        let callers = (0..<Self.clients).map { RepeatingCaller(requests, from: $0 * requests.count / Self.clients) }
        return try await Load.run(callers, to: host.ports.auth, for: pace.length, of: host.child.tree)
    }

    private func repeated(_ body: () throws -> Void) throws -> LoadReport {
        var report = LoadReport()
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
        while ContinuousClock.now < start + pace.length.measured {
            let begin = ContinuousClock.now
            try body()
            report.add(latency: ContinuousClock.now - begin)
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = OwnProcess.cpuSeconds() - cpu
        return report
    }

    private func timed<Element>(
        _ elements: some Sequence<Element>, _ body: (Element) throws -> Void
    ) throws -> LoadReport {
        var report = LoadReport()
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
        for element in elements {
            let begin = ContinuousClock.now
            try body(element)
            report.add(latency: ContinuousClock.now - begin)
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = OwnProcess.cpuSeconds() - cpu
        return report
    }

    /// What a sign-in with a password computes.
    private static func hash() throws -> SymmetricKey {
        try KDF.Scrypt.deriveKey(
            from: Data("correct horse".utf8), salt: Data("a salt of 16 byt".utf8), outputByteCount: 32, rounds: 1 << 15,
            blockSize: 8, parallelism: 1, maxMemory: 1 << 30)
    }

    private struct Person: Decodable {
        var idToken: String
        var refreshToken: String
    }

    private func signUp(_ host: HostProcess) async throws -> [Person] {
        let request = Requests(port: host.ports.auth).post(Self.path("signUp"), #"{"returnSecureToken":true}"#)
        let people = Collector<Person>()
        let callers = ListCaller.dealt(Array(repeating: request, count: Self.people), to: Self.clients) { answer in
            guard let person = try? JSONDecoder().decode(Person.self, from: Data(answer.body.readableBytesView)) else {
                return false
            }
            people.append(person)
            return true
        }
        try await Load.runToEnd(callers, to: host.ports.auth).check()
        return people.all
    }

    private static func path(_ operation: String) -> String {
        "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=bench"
    }
}
