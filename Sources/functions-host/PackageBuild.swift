import Foundation

/// Builds a package's products with the package manager.
struct PackageBuild: Sendable {
    /// The package's directory.
    let package: String
    let products: [String]
    var configuration = "release"

    /// A build of only some of the products.
    func limited(to products: [String]) -> PackageBuild {
        PackageBuild(package: package, products: products, configuration: configuration)
    }

    /// Builds the products, all at once. The package manager's output goes to standard error.
    ///
    /// - Throws: ``BuildError``.
    func run() throws {
        // The package manager builds one product or everything.
        let (status, _) = try Self.swift(
            arguments + (configuration == "release" ? Self.staticLibraries : [])
                + (products.count == 1 ? ["--product", products[0]] : []), capturesOutput: false)
        guard status == 0 else {
            let names = products.joined(separator: ", ")
            throw BuildError(
                "the product\(products.count == 1 ? "" : "s") \(names) can't be built, see the errors above; "
                    + "nothing was changed")
        }
    }

    /// The path of an executable after a build.
    func path(of product: String) throws -> String {
        // Its usual place: asking the package manager takes a second.
        let usual = "\(package)/.build/\(configuration)/\(product)"
        if FileManager.default.isExecutableFile(atPath: usual) { return usual }
        let (_, path) = try Self.swift(arguments + ["--show-bin-path"], capturesOutput: true)
        return path.trimmingCharacters(in: .whitespacesAndNewlines) + "/" + product
    }

    /// Has Swift's libraries in a program, where the toolchain has these as archives: it takes less time for each call, starts
    /// sooner, and runs on machines without Swift.
    private static let staticLibraries: [String] = {
        #if os(Linux)
            struct Information: Decodable {
                struct Paths: Decodable { var runtimeResourcePath: String }
                var paths: Paths
            }
            guard let (_, text) = try? swift(["-print-target-info"], capturesOutput: true),
                let information = try? JSONDecoder().decode(Information.self, from: Data(text.utf8)),
                FileManager.default.fileExists(
                    atPath: information.paths.runtimeResourcePath + "_static/linux/libFoundation.a")
            else { return [] }
            return ["--static-swift-stdlib"]
        #else
            return []
        #endif
    }()

    private var arguments: [String] { ["build", "-c", configuration, "--package-path", package] }

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
            throw BuildError("\(package) isn't a Swift package, or its Package.swift is invalid")
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
            throw BuildError("swift isn't on the PATH; install the toolchain, or deploy with --executable")
        }
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}

struct BuildError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
