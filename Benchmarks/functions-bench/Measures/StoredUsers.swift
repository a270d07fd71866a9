import Crypto
import Foundation
import NIOCore
import _CryptoExtras

/// Users that a benchmark imports, each with an email address, a phone number, a provider and a password.
struct StoredUsers: Sendable {
    static let password = "correct horse"
    private static let atOnce = 1000

    private let port: Int
    private let hash: String
    private let salt: String

    /// - Parameter port: the auth port of a host whose hashes take 1 MiB, so that these are its own.
    init(port: Int) throws {
        self.port = port
        let salt = Data("a salt of 16 byt".utf8)
        let key = try KDF.Scrypt.deriveKey(
            from: Data(Self.password.utf8), salt: salt, outputByteCount: 32, rounds: 1 << 10, blockSize: 8,
            parallelism: 1, maxMemory: 1 << 30)
        self.salt = salt.base64EncodedString()
        hash = key.withUnsafeBytes { Data($0) }.base64EncodedString()
    }

    /// Imports the users of these numbers.
    func store(_ numbers: Range<Int>) async throws {
        let requests = stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.atOnce).map { first in
            let users = (first..<min(first + Self.atOnce, numbers.upperBound)).map(user).joined(separator: ",")
            return admin(
                "batchCreate",
                """
                {"hashAlgorithm":"STANDARD_SCRYPT","cpuMemCost":1024,"blockSize":8,"parallelization":1,"dkLen":32,\
                "users":[\(users)]}
                """)
        }
        let callers = ListCaller.dealt(requests, to: 2) { answer in
            answer.status == 200 && !String(buffer: answer.body).contains("error")
        }
        try await Load.runToEnd(callers, to: port).check()
    }

    func admin(_ operation: String, _ body: String) -> ByteBuffer {
        Requests(port: port, token: "owner").post(
            "/identitytoolkit.googleapis.com/v1/projects/\(HostProcess.project)/accounts:\(operation)", body)
    }

    func client(_ operation: String, _ body: String) -> ByteBuffer {
        Requests(port: port).post("/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=bench", body)
    }

    /// A page of the list.
    func page(after number: Int, of count: Int) -> ByteBuffer {
        Requests(port: port, token: "owner").get(
            "/identitytoolkit.googleapis.com/v1/projects/\(HostProcess.project)/accounts:batchGet?maxResults=\(count)"
                + "&nextPageToken=\(Self.uid(number))")
    }

    static func uid(_ number: Int) -> String { "user" + String(number + 10_000_000) }
    static func email(_ number: Int) -> String { "person\(number)@example.com" }
    static func phone(_ number: Int) -> String { "+8190" + String(number + 10_000_000) }

    private func user(_ number: Int) -> String {
        """
        {"localId":"\(Self.uid(number))","email":"\(Self.email(number))","emailVerified":true,\
        "phoneNumber":"\(Self.phone(number))","displayName":"Person \(number)","passwordHash":"\(hash)",\
        "salt":"\(salt)","providerUserInfo":[{"providerId":"google.com","rawId":"g\(number)",\
        "email":"\(Self.email(number))"}],"createdAt":"1700000000000","lastLoginAt":"1700000000000"}
        """
    }
}
