import Foundation
import TestSupport
import Testing

/// `functions-host init`. That what it makes builds, passes its test and serves is seen by `.ci/init`.
@Suite(.endsHangs) struct InitTests {
    private func run(_ arguments: String..., in directory: HostDirectory) async throws -> DataCommandRun {
        await HostSlots.take()
        defer { HostSlots.release() }
        return try await DataCommandRun.run(arguments, in: directory, command: "init")
    }

    /// What has the looks of the runtime's package.
    private func runtime(in directory: HostDirectory) throws -> String {
        let path = directory.path + "/runtime"
        for folder in ["FunctionsRuntime", "FunctionsTesting"] {
            try FileManager.default.createDirectory(
                atPath: path + "/Sources/" + folder, withIntermediateDirectories: true)
        }
        try directory.write("// swift-tools-version: 6.2\n", to: "runtime/Package.swift")
        try directory.write("{}\n", to: "runtime/Package.resolved")
        return path
    }

    private func text(_ path: String, in directory: HostDirectory) throws -> String {
        try String(contentsOfFile: directory.path + "/" + path, encoding: .utf8)
    }

    @Test func packageHasWhatAnAuthorBeginsWith() async throws {
        let directory = try HostDirectory()
        let runtime = try runtime(in: directory)
        let made = try await run("guest-book", "--runtime", "runtime", in: directory)
        #expect(made.status == 0)
        #expect(made.output.contains("Its Package.swift refers to the runtime in \(runtime)."))
        #expect(
            try text("guest-book/Package.swift", in: directory).contains(
                ".package(name: \"functions-host\", path: \"\(runtime)\")"))
        #expect(
            try JSON(parsing: text("guest-book/functions.json", in: directory))
                == JSON(
                    parsing: """
                        { "project": "demo-guest-book",
                          "bundles": [ { "name": "guest-book", "product": "GuestBookFunctions" } ] }
                        """))
        let bundle = try text("guest-book/Sources/GuestBookFunctions/GuestBookFunctions.swift", in: directory)
        for kind in [
            "onCall", "onRequest", "onDocumentCreated", "onTaskDispatched", "onCustomEventPublished", "onSchedule",
        ] {
            #expect(bundle.contains(kind + "("), "\(kind)")
        }
        let outside = try text("guest-book/.dockerignore", in: directory).split(separator: "\n")
        for path in [".build", ".functions", ".secrets", ".secrets.*"] { #expect(outside.contains("**/\(path)")) }
        for path in [
            "Sources/GuestBookFunctions/Models.swift", "Tests/GuestBookFunctionsTests/GuestBookFunctionsTests.swift",
            "README.md", ".gitignore", "Package.resolved",
        ] {
            #expect(try !text("guest-book/" + path, in: directory).isEmpty, "\(path)")
        }
    }

    @Test func whatIsThereStays() async throws {
        let directory = try HostDirectory()
        _ = try runtime(in: directory)
        try directory.write("mine", to: "book")
        let refused = try await run("book", "--runtime", "runtime", in: directory)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("\(directory.path)/book already exists; nothing was written"))
        #expect(try text("book", in: directory) == "mine")
    }

    @Test(arguments: ["9lives", "my shop", "über", "a-", "", "aaaaaaaaaaaaaaaaaaaaaaaaaa", "../x", "a/b"])
    func nameIsTold(name: String) async throws {
        let directory = try HostDirectory()
        let refused = try await run(name, in: directory)
        #expect(refused.status == 64)
        #expect(
            refused.errors.contains(
                "\"\(name)\" isn't a valid package name; use at most 25 letters, digits and hyphens, a letter first and "
                    + "no hyphen last, such as guest-book"))
    }

    @Test func nameOfTheRuntimesOwnIsTaken() async throws {
        let directory = try HostDirectory()
        let refused = try await run("shop", in: directory)
        #expect(refused.status == 64)
        #expect(refused.errors.contains("the runtime's own package already has a ShopFunctions"))
    }

    @Test func runtimeThatIsNoneIsTold() async throws {
        let directory = try HostDirectory()
        let refused = try await run("book", "--runtime", "nowhere", in: directory)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("\(directory.path)/nowhere isn't the runtime's package"))
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/book"))
    }
}
