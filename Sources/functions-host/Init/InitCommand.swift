import ArgumentParser
import Foundation
import HostProcess

/// `functions-host init NAME`
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Creates a package with one function of each kind and a test.",
        discussion: """
            Creates a directory with a bundle, a test, functions.json, and a README that explains how to build, test and \
            serve it. The package depends on the runtime's package by path: the one in which this program was built, or the \
            one given by --runtime. Exit codes: 0 success, 1 failure, 64 invalid arguments.
            """)

    @Argument(help: "The package's name, such as guest-book: letters, digits and hyphens.")
    var name: String

    @Option(help: "The directory of the runtime's package, which has Sources/FunctionsRuntime.")
    var runtime: String?

    func validate() throws {
        do throws(InitError) { _ = try BundleName(name) } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        do throws(InitError) {
            let name = try BundleName(name)
            let package = BundleTemplate(name: name, runtime: try RuntimePackage.named(runtime))
            try package.write(to: absolutePath(name.text))
            print(package.greeting(host: CommandLine.arguments.first ?? "functions-host"))
        } catch {
            try? FileOutput.append("\(error)\n", to: .standardError)
            throw ExitCode(1)
        }
    }
}

struct InitError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
