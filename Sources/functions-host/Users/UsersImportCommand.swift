import ArgumentParser
import ControlAPI
import ControlProtocol
import DocumentModel
import Foundation
import StrictJSON

/// The options that say how the passwords of an import were hashed, as `firebase auth:import` names them.
struct PasswordHashOptions: ParsableArguments {
    @Option(
        help: """
            How passwords were hashed: SCRYPT (Firebase's own), STANDARD_SCRYPT, BCRYPT, PBKDF_SHA1, PBKDF2_SHA256, MD5, \
            SHA1, SHA256, SHA512, or HMAC_ before one of the last four. (default: as the file says)
            """)
    var hashAlgo: String?

    @Option(help: "The key of SCRYPT or HMAC, in base 64.")
    var hashKey: String?

    @Option(help: "The salt separator of SCRYPT, in base 64.")
    var saltSeparator: String?

    @Option(help: "The rounds of SCRYPT, PBKDF2 or a digest.")
    var rounds: Int?

    @Option(help: "The memory cost of SCRYPT, or the N of STANDARD_SCRYPT.")
    var memCost: Int?

    @Option(help: "The parallelization of STANDARD_SCRYPT.")
    var parallelization: Int?

    @Option(help: "The block size of STANDARD_SCRYPT.")
    var blockSize: Int?

    @Option(help: "The length of hashes of STANDARD_SCRYPT, in bytes.")
    var dkLen: Int?

    @Option(help: "What digests and HMAC hash first: SALT_FIRST or PASSWORD_FIRST.")
    var hashInputOrder: String?

    func validate() throws {
        if hashAlgo == nil {
            let isSet =
                hashKey != nil || saltSeparator != nil || hashInputOrder != nil
                || [rounds, memCost, parallelization, blockSize, dkLen].contains { $0 != nil }
            guard !isSet else { throw ValidationError("these options need --hash-algo") }
        }
        if let hashInputOrder, !["SALT_FIRST", "PASSWORD_FIRST"].contains(hashInputOrder.uppercased()) {
            throw ValidationError("--hash-input-order is SALT_FIRST or PASSWORD_FIRST")
        }
    }

    /// As requests name them; nil without an algorithm.
    var parameters: JSONObject? {
        guard let algorithm = hashAlgo?.uppercased() else { return nil }
        var json: JSONObject = ["hashAlgorithm": .string(algorithm)]
        json["signerKey"] = hashKey.map(JSONValue.string)
        json["saltSeparator"] = saltSeparator.map(JSONValue.string)
        let numbers = [
            ("rounds", rounds), (algorithm == "STANDARD_SCRYPT" ? "cpuMemCost" : "memoryCost", memCost),
            ("parallelization", parallelization), ("blockSize", blockSize), ("dkLen", dkLen),
        ]
        for (name, number) in numbers { json[name] = number.map { .integer(Int64($0)) } }
        json["passwordHashOrder"] = hashInputOrder.map {
            $0.uppercased() == "PASSWORD_FIRST" ? "PASSWORD_AND_SALT" : "SALT_AND_PASSWORD"
        }
        return json
    }
}

/// `functions-host users import FILE`
struct UsersImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports users with their passwords' hashes. No function is notified.",
        discussion: """
            Reads the files of "users export" and "firebase auth:export" (.json, .csv), and directories of \
            "firebase emulators:export". Users that can't be imported are reported, the others are; then the exit code is 2.
            """)

    @OptionGroup var options: HostOptions
    @OptionGroup var hash: PasswordHashOptions

    @Flag(help: "Replace users with the same uids; otherwise they are reported and left as they are.")
    var replace = false

    @Argument(help: "The file or directory.")
    var file: String

    func run() async throws {
        try await options.run { host, report in
            var work = UserImportRun(host, report, parameters: hash.parameters, replacing: replace)
            if let directory = try EmulatorExport(absolutePath(file)) {
                if let settings = try directory.settings() { _ = try await host.users("set-settings", settings) }
                for tenant in try directory.tenantFiles() {
                    report.problem("\(tenant): this host has no tenants; their users are left out")
                    work.failed += 1
                }
                try await work.read(directory.accounts, as: .json)
            } else {
                guard let format = UserFile.Format(extensionOf: file) else {
                    throw ValidationError("\(file) must end with .json or .csv, or be a directory of emulators:export")
                }
                try await work.read(absolutePath(file), as: format)
            }
            var sentence = "imported \(UserCount.text(work.imported))"
            if work.failed > 0 { sentence += "; \(work.failed) could not be imported" }
            report.result(
                sentence, ["imported": work.imported, "failed": work.failed, "problems": report.problems])
            if work.failed > 0 { throw ExitCode(2) }
        }
    }
}

extension UserFile.Format {
    init?(extensionOf file: String) {
        switch URL(fileURLWithPath: file).pathExtension.lowercased() {
        case "json": self = .json
        case "csv": self = .csv
        default: return nil
        }
    }
}

/// One import of users by the running host, in batches.
struct UserImportRun {
    private static let maxUsers = 1000
    private static let maxBytes = 4 << 20

    private let host: HostControl
    private let report: CommandReport
    /// How passwords were hashed; nil if neither options nor the file say so.
    private var parameters: JSONObject?
    private let isFixed: Bool
    private let replacing: Bool
    private var batch: [UserEntry] = []
    private var batchBytes = 0
    private var uids: Set<String> = []
    private(set) var imported = 0
    var failed = 0

    init(_ host: HostControl, _ report: CommandReport, parameters: JSONObject?, replacing: Bool) {
        self.host = host
        self.report = report
        self.parameters = parameters
        isFixed = parameters != nil
        self.replacing = replacing
    }

    mutating func read(_ path: String, as format: UserFile.Format) async throws {
        do {
            if format == .csv { try await readTable(path) } else { try await readList(path) }
            try await flush()
        } catch let error as DocumentError {
            guard imported > 0 else { throw DocumentError(error.code, "\(path): \(error.message)") }
            throw DocumentError(
                error.code,
                "\(path): \(error.message) (\(UserCount.text(imported)) were imported before and stay; to continue, "
                    + "import again with --replace)")
        }
    }

    private mutating func readTable(_ path: String) async throws {
        var reader = UserTableReader()
        for try await piece in try FileChunks(path) {
            for entry in try reader.read(piece) { try await add(entry) }
        }
        for entry in try reader.finish() { try await add(entry) }
    }

    private mutating func readList(_ path: String) async throws {
        var reader = UserListReader()
        for try await piece in try FileChunks(path) {
            for item in try reader.read(piece) {
                switch item {
                case .user(let entry): try await add(entry)
                case .member("hash", let value) where !isFixed: parameters = value.objectValue
                case .member: break
                }
            }
        }
        try reader.finish()
    }

    private mutating func add(_ entry: UserEntry) async throws {
        if let problem = entry.problem { return fail(entry, problem) }
        let size = try JSONValue.object(entry.fields).serialized().count
        // A uid that comes again is the next batch's, which finds the first one stored.
        let isRepeated = uids.contains(entry.uid)
        if batch.count >= Self.maxUsers || batchBytes + size > Self.maxBytes || isRepeated { try await flush() }
        batch.append(entry)
        uids.insert(entry.uid)
        batchBytes += size
    }

    private mutating func fail(_ entry: UserEntry, _ problem: String) {
        failed += 1
        report.problem("\(entry.place)\(entry.uid.isEmpty ? "" : ", \(entry.uid)"): \(problem)")
    }

    private mutating func flush() async throws {
        guard !batch.isEmpty else { return }
        var request = parameters ?? [:]
        request["allowOverwrite"] = .bool(replacing)
        request["users"] = .array(batch.map { .object($0.fields) })
        let answer = try await host.users("import", request)
        let entries = batch
        (batch, batchBytes, uids) = ([], 0, [])
        imported += entries.count
        guard case .array(let errors)? = answer["error"] else {
            return report.progress("users", done: imported, total: nil)
        }
        for error in errors {
            guard let index = error["index"]?.intValue, entries.indices.contains(index) else { continue }
            imported -= 1
            fail(entries[index], error["message"]?.stringValue ?? "the host refuses the user")
        }
    }
}
