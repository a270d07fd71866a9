import Foundation

/// A bundle's product, as the package manager builds it.
struct PackageBuild: Sendable {
    /// The package's directory.
    let package: String
    let product: String
    var configuration = "release"

    /// Builds the product; the package manager's output goes where errors go.
    ///
    /// - Returns: the executable's path.
    /// - Throws: ``BuildError``.
    func run() throws -> String {
        let (status, _) = try Self.swift(arguments, capturesOutput: false)
        guard status == 0 else {
            throw BuildError("the product \(product) can't be built; the errors are above, and nothing was changed")
        }
        return try path()
    }

    /// Where the executable is, or will be, once it is built.
    func path() throws -> String {
        let (_, path) = try Self.swift(arguments + ["--show-bin-path"], capturesOutput: true)
        return path.trimmingCharacters(in: .whitespacesAndNewlines) + "/" + product
    }

    private var arguments: [String] {
        ["build", "-c", configuration, "--product", product, "--package-path", package]
    }

    /// The executable products of a package.
    static func executables(of package: String) throws -> [String] {
        struct Description: Decodable {
            struct Product: Decodable {
                struct Kind: Decodable {
                    var isExecutable: Bool

                    init(from decoder: any Decoder) throws {
                        struct Key: CodingKey {
                            var stringValue: String
                            var intValue: Int? { nil }
                            init(stringValue: String) { self.stringValue = stringValue }
                            init?(intValue: Int) { nil }
                        }
                        isExecutable = try decoder.container(keyedBy: Key.self).allKeys.contains {
                            $0.stringValue == "executable"
                        }
                    }
                }
                var name: String
                var type: Kind
            }
            var products: [Product]
        }
        let (status, text) = try swift(
            ["package", "--package-path", package, "describe", "--type", "json"], capturesOutput: true)
        guard status == 0, let start = text.firstIndex(of: "{") else {
            throw BuildError("\(package) is no Swift package, or its Package.swift can't be read")
        }
        let description = try JSONDecoder().decode(Description.self, from: Data(text[start...].utf8))
        return description.products.filter(\.type.isExecutable).map(\.name).sorted()
    }

    private static func swift(_ arguments: [String], capturesOutput: Bool) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["swift"] + arguments
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = capturesOutput ? pipe : FileHandle.standardError
        do {
            try process.run()
        } catch {
            throw BuildError("swift can't be started: \(error)")
        }
        let output = capturesOutput ? try pipe.fileHandleForReading.readToEnd() ?? Data() : Data()
        process.waitUntilExit()
        guard process.terminationStatus != 127 else {
            throw BuildError("there is no swift on the PATH; install the toolchain, or deploy with --executable")
        }
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

struct BuildError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
