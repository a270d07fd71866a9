import StrictJSON
import TextFormats
import Testing
import UserStore

@testable import IdentityProvider

/// Hashes as other implementations make them: Python's hashlib and bcrypt, the command `argon2`, and the example of Firebase's
/// own scrypt.
@Suite struct PasswordHashTests {
    struct Import: Sendable, CustomTestStringConvertible {
        var parameters: String
        var hash: String
        var salt = "TmFDbA=="
        var password = "imported-1"

        var testDescription: String { parameters }
    }

    private static let signerKey = #""signerKey":"c2lnbmVyLWtleQ==""#

    static let imports: [Import] = [
        Import(
            parameters: """
                "hashAlgorithm":"SCRYPT","rounds":8,"memoryCost":14,"saltSeparator":"Bw==","signerKey":\
                "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
                """,
            hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
            salt: "42xEC+ixf3L2lw==", password: "user1password"),
        Import(
            parameters:
                #""hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,"blockSize":8,"parallelization":2,"dkLen":40"#,
            hash: "/Ne67EDLFqvMAKV+xgmvk2gJDbdLx7/BRdzAvOPVNpQiv9yjmQE/Jg=="),
        Import(
            parameters:
                #""hashAlgorithm":"STANDARD_SCRYPT","memoryCost":1024,"blockSize":8,"parallelization":2,"dkLen":40"#,
            hash: "/Ne67EDLFqvMAKV+xgmvk2gJDbdLx7/BRdzAvOPVNpQiv9yjmQE/Jg=="),
        Import(
            parameters: #""hashAlgorithm":"BCRYPT""#,
            hash: Base64.encode("$2b$06$tjxqjKky3JUT.wFCuQii8OrgH4izUJf1xZ6jJF8fa.BBfJt8pqHXC".utf8), salt: ""),
        Import(
            parameters: #""hashAlgorithm":"BCRYPT""#,
            hash: Base64.encode("$2a$05$YX0ltOMuKE0.oZb7it1j1u8mLFz2qKGwNEwPDfjNQMijoqU/UNF3y".utf8), salt: ""),
        Import(
            parameters: """
                "hashAlgorithm":"ARGON2","argon2Parameters":{"hashLengthBytes":24,"hashType":"ARGON2_ID",\
                "parallelism":2,"iterations":2,"memoryCostKib":1024}
                """, hash: "QBYhcXpcZQWzSqZ+E01dFnsFoqv3UyaB", salt: "c2FsdHNhbHQ="),
        Import(
            parameters: """
                "hashAlgorithm":"ARGON2","argon2Parameters":{"hashLengthBytes":32,"hashType":"ARGON2_D",\
                "parallelism":1,"iterations":3,"memoryCostKib":256,"version":"VERSION_10"}
                """, hash: "vF4qqbp1WG/ZoZp1e0ynhpYyy3jGCfQuAQ2T0psrIt8=", salt: "c2FsdHNhbHQ="),
        Import(parameters: #""hashAlgorithm":"PBKDF_SHA1","rounds":1000"#, hash: "yt7sOMyshzzL7gsbEVoOIsgmyxU="),
        Import(
            parameters: #""hashAlgorithm":"PBKDF2_SHA256","rounds":1000"#,
            hash: "tJoQKUBoMA/zV8B5mNKmPbVSxpbjVffb8c68atqzsIs="),
        Import(parameters: #""hashAlgorithm":"HMAC_MD5",\#(signerKey)"#, hash: "W18ea4Ap53t43wP1U7ptjQ=="),
        Import(
            parameters: #""hashAlgorithm":"HMAC_MD5","passwordHashOrder":"PASSWORD_AND_SALT",\#(signerKey)"#,
            hash: "H2MBfg5910wQ4m1cV//IEA=="),
        Import(parameters: #""hashAlgorithm":"HMAC_SHA1",\#(signerKey)"#, hash: "lgw/hgjOgkPYoPPfBQ+IYbwFP3k="),
        Import(
            parameters: #""hashAlgorithm":"HMAC_SHA256",\#(signerKey)"#,
            hash: "hgQP4qdPCXJ0+TEa/Tcbq40vNTKeUxXXQM/IzFK75bI="),
        Import(
            parameters: #""hashAlgorithm":"HMAC_SHA512",\#(signerKey)"#,
            hash: "7EIVX+2Hvgb/G/+Z/t53tUQqzwreq0kPNpnHdJ1v/9h6OW4lpqIkbyFiyOiNtAZInLj1GSG22Vc9/e7QRFplBQ=="),
        Import(parameters: #""hashAlgorithm":"MD5","rounds":3"#, hash: "lSkTykPsX3BcOT1lgYraQQ=="),
        Import(parameters: #""hashAlgorithm":"SHA1","rounds":3"#, hash: "yWf4arkgAEexUaNmRZZZZX4E2b0="),
        Import(
            parameters: #""hashAlgorithm":"SHA256","rounds":3"#, hash: "p2eGi9VqJYDpCGmqi5RMQl7mudDyAClYObmyzus2SYA="),
        Import(
            parameters: #""hashAlgorithm":"SHA256","rounds":3,"passwordHashOrder":"PASSWORD_AND_SALT""#,
            hash: "KgG5h0gMWqkNHWOD+HDUzOO9lhPofuc6/X9eCaCH4rY="),
        Import(
            parameters: #""hashAlgorithm":"SHA512","rounds":3"#,
            hash: "5VFfT4qhX86goB6enrsMHiE5c1bJMMDD0NVZjE9dkLBRdUztiMht29Q53pcJw05Dsp7uQ8nSRUFAs9Erx+66SA=="),
    ]

    private func scheme(_ parameters: String) throws -> ImportedScheme {
        try ImportedScheme(SignInRequest(json: Array("{\(parameters)}".utf8)))
    }

    @Test(arguments: imports) func importedHashesMatchTheirPasswordOnly(given: Import) throws {
        let hash = try scheme(given.parameters).password(given.hash, salt: given.salt.isEmpty ? nil : given.salt)
        #expect(hash.matches(given.password))
        #expect(!hash.matches(given.password + "x"))
        #expect(!hash.matches(""))
        #expect(!hash.matches(given.password + "\0x"))
    }

    @Test(arguments: [
        (#""hashAlgorithm":"ROT13""#, "INVALID_HASH_ALGORITHM : ROT13 is unknown"),
        (#""hashAlgorithm":"ROT13""#, "INVALID_HASH_ALGORITHM : ROT13 is unknown"),
        (#""hashAlgorithm":"ARGON2""#, "INVALID_ARGUMENT : argon2Parameters.hashType"),
        (
            #""hashAlgorithm":"ARGON2","argon2Parameters":{"hashType":"ARGON2_I","parallelism":4,"iterations":1,"memoryCostKib":31}"#,
            "INVALID_ARGUMENT : argon2Parameters.memoryCostKib is from 32 to 32768"
        ),
        (#""hashAlgorithm":"HMAC_SHA256""#, "INVALID_ARGUMENT : HMAC_SHA256 needs signerKey"),
        (#""hashAlgorithm":"HMAC_SHA256","signerKey":"%%""#, "INVALID_ARGUMENT : HMAC_SHA256 needs signerKey"),
        (#""hashAlgorithm":"SHA256""#, "INVALID_ARGUMENT : SHA256 needs the number rounds"),
        (#""hashAlgorithm":"SHA256","rounds":0"#, "INVALID_ARGUMENT : rounds is from 1 to 8192"),
        (#""hashAlgorithm":"PBKDF_SHA1","rounds":120001"#, "INVALID_ARGUMENT : rounds is from 0 to 120000"),
        (#""hashAlgorithm":"SCRYPT","signerKey":"AA==","rounds":8,"memoryCost":15"#, "INVALID_ARGUMENT : memoryCost"),
        (
            #""hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1000,"blockSize":8,"parallelization":1"#,
            "INVALID_ARGUMENT : cpuMemCost is a power of two"
        ),
        (
            #""hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1048576,"blockSize":8,"parallelization":1"#,
            "INVALID_ARGUMENT : cpuMemCost and blockSize take more than 256 MiB"
        ),
    ]) func wrongParametersAreRefused(parameters: String, message: String) {
        let error = #expect(throws: IdentityToolkitError.self) { try scheme(parameters) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        (#""hashAlgorithm":"SHA256","rounds":1"#, "AAAA", "passwordHash has 3 bytes in place of 32"),
        (#""hashAlgorithm":"SHA256","rounds":1"#, "?", "passwordHash is not base 64"),
        (#""hashAlgorithm":"BCRYPT""#, "JDJiJDMwJHg=", "passwordHash is not a bcrypt hash of cost 4 to 15"),
        ("", "AAAA", "passwordHash needs a hashAlgorithm"),
    ]) func wrongHashesAreRefused(parameters: String, hash: String, message: String) throws {
        let scheme = try scheme(parameters)
        let error = #expect(throws: IdentityToolkitError.self) { try scheme.password(hash, salt: nil) }
        #expect(error?.message == message)
    }

    @Test func newHashesAreSaltedAndCurrent() async throws {
        let hasher = PasswordHasher(cost: 4)
        let (one, two) = (try await hasher.hash("secret", for: "a"), try await hasher.hash("secret", for: "a"))
        #expect(one != two)
        #expect(one.matches("secret") && two.matches("secret"))
        #expect(hasher.isCurrent(one))
        #expect(try await hasher.verify("secret", one, for: "a"))
        #expect(try await !hasher.verify("other", one, for: "a"))
        #expect(try await !hasher.verify("secret", nil, for: "a"))
        let other = PasswordHasher(cost: 8)
        #expect(!other.isCurrent(one))
        await hasher.close()
        await other.close()
    }

    /// One caller can't take all places, and what has a place is done.
    @Test func hashesBeyondThePlacesAreRefused() async throws {
        let hasher = PasswordHasher(cost: 1 << 10, threads: 1, places: 4)
        let (done, refused) = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do {
                        return try await hasher.hash("secret", for: "a").matches("secret")
                    } catch let error as IdentityToolkitError where error == .unavailable {
                        return false
                    }
                }
            }
            return try await group.reduce(into: (0, 0)) { counts, isDone in
                if isDone { counts.0 += 1 } else { counts.1 += 1 }
            }
        }
        #expect(done > 0)
        #expect(done + refused == 50)
        await hasher.close()
    }
}

@Suite struct PasswordPolicyTests {
    private func problem(_ policy: PasswordPolicy, _ password: String) -> String? {
        do {
            try policy.check(password)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func theDefaultIsSixCharacters() {
        #expect(problem(PasswordPolicy(), "secret") == nil)
        #expect(problem(PasswordPolicy(), "five5") == "WEAK_PASSWORD : Password should be at least 6 characters")
    }

    @Test func allThatIsMissingIsNamed() {
        var policy = PasswordPolicy()
        policy.minLength = 8
        (policy.needsLowercase, policy.needsUppercase, policy.needsDigit, policy.needsSymbol) = (true, true, true, true)
        #expect(problem(policy, "Secret7!") == nil)
        #expect(
            problem(policy, "SECRET")
                == "PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Missing password requirements: "
                + "[Password must contain at least 8 characters, Password must contain a lower case character, "
                + "Password must contain a numeric character, Password must contain a non-alphanumeric character]")
        let options = policy.json["customStrengthOptions"]
        #expect(options?["minPasswordLength"] == 8)
        #expect(options?["containsUppercaseCharacter"] == true)
    }
}
