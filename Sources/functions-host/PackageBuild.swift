import Foundation
import Workers

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
    func run(until interruption: BuildInterruption = BuildInterruption()) throws {
        // The package manager builds one product or everything.
        let (status, _) = try Self.swift(
            arguments + (configuration == "release" ? Self.staticLibraries : [])
                + (products.count == 1 ? ["--product", products[0]] : []), capturesOutput: false, until: interruption)
        guard status == .exited(0) else {
            guard status != .signalled(SIGINT) else { throw BuildError("the build was interrupted") }
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
        guard status == .exited(0), let start = text.firstIndex(of: "{") else {
            throw BuildError("\(package) isn't a Swift package, or its Package.swift is invalid")
        }
        let description = try JSONDecoder().decode(Description.self, from: Data(text[start...].utf8))
        return description.products.filter(\.type.isExecutable).map(\.name).sorted()
    }

    /// Not with Foundation's `Process`: it can read beyond its buffers in a host with many descriptors, keeps a terminal's
    /// signals from the package manager, and lets it start with those blocked that this thread blocks.
    private static func swift(
        _ arguments: [String], capturesOutput: Bool, until interruption: BuildInterruption = BuildInterruption()
    ) throws -> (status: ProcessStatus.Outcome, output: String) {
        var pipe: (read: Int32, write: Int32)?
        let pid: Int32
        do throws(ProcessSpawn.Failure) {
            if capturesOutput { pipe = try DescriptorPair.pipe() }
            defer { if let pipe { DescriptorPair.close(pipe.write) } }
            pid = try interruption.start(
                ProcessSpawn(
                    executable: "/usr/bin/env", arguments: ["swift"] + arguments,
                    environment: ProcessInfo.processInfo.environment, standardOutput: pipe?.write ?? STDERR_FILENO,
                    standardError: STDERR_FILENO, links: [], hasOwnGroup: false))
        } catch {
            if let pipe { DescriptorPair.close(pipe.read) }
            throw BuildError("swift can't be started: \(error)")
        }
        var output = Data()
        if let pipe {
            output = (try? FileHandle(fileDescriptor: pipe.read, closeOnDealloc: true).readToEnd()) ?? Data()
        }
        let status = interruption.waitForEnd(of: pid)
        guard status != .exited(127) else {
            throw BuildError("swift isn't on the PATH; install the toolchain, or deploy with --executable")
        }
        return (status, String(decoding: output, as: UTF8.self))
    }
}

struct BuildError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
