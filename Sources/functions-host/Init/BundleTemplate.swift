import Foundation

/// The template of a new functions package: a guest book with one function of each kind.
struct BundleTemplate: Sendable {
    let name: BundleName
    let runtime: RuntimePackage

    var product: String { name.product }

    /// File contents by path within the package.
    private var files: [(path: String, text: String)] {
        [
            ("Package.swift", package),
            ("functions.json", configuration),
            (".gitignore", ".build/\n.functions/\n.secrets\n.secrets.*\n"),
            (".dockerignore", Self.outsideImages),
            ("README.md", readme),
            ("Sources/\(product)/\(product).swift", bundle),
            ("Sources/\(product)/Models.swift", models),
            ("Tests/\(product)Tests/\(product)Tests.swift", tests),
        ]
    }

    /// Excludes build products, data with its keys, and secrets from the image, also if the build context is the parent
    /// directory.
    private static let outsideImages = """
        **/.build
        **/.functions
        **/.secrets
        **/.secrets.*
        **/.env
        **/.env.*
        **/.git

        """

    /// Writes the complete package or nothing. The runtime's dependencies are pinned to the same versions as its own.
    ///
    /// - Throws: If the path exists, which is left unchanged, or can't be written.
    func write(to path: String) throws(InitError) {
        let manager = FileManager.default
        // A dangling symbolic link counts as existing.
        guard (try? manager.attributesOfItem(atPath: path)) == nil else {
            throw InitError("\(path) already exists; nothing was written. Choose another name or directory")
        }
        do {
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            throw InitError("\(path) can't be created: \(error.localizedDescription)")
        }
        do {
            for file in files {
                let url = URL(fileURLWithPath: path + "/" + file.path)
                try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: url)
            }
            let versions = "/Package.resolved"
            if manager.fileExists(atPath: runtime.path + versions) {
                try manager.copyItem(atPath: runtime.path + versions, toPath: path + versions)
            }
        } catch {
            try? manager.removeItem(atPath: path)
            throw InitError("\(path) can't be written: \(error.localizedDescription)")
        }
    }

    /// The next steps for the author.
    /// - Parameter host: how this program was started.
    func greeting(host: String) -> String {
        """
        Created \(name.text). Its Package.swift refers to the runtime in \(runtime.path). Next (the first build takes some
        minutes, later ones seconds):

          cd \(name.text)
          swift test
          \(host.contains("/") ? absolutePath(host) : host) serve --watch
        """
    }

    private var package: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "\(name.text)",
            platforms: [.macOS(.v15)],
            products: [.executable(name: "\(product)", targets: ["\(product)"])],
            dependencies: [
                // The path of the runtime's package on this machine.
                .package(name: "functions-host", path: "\(runtime.path.quoted)")
            ],
            targets: [
                .executableTarget(
                    name: "\(product)",
                    dependencies: [
                        .product(name: "FunctionsRuntime", package: "functions-host"),
                        // To call other services with fetch:
                        // .product(name: "FunctionsHTTPClient", package: "functions-host"),
                    ]),
                .testTarget(
                    name: "\(product)Tests",
                    dependencies: [
                        "\(product)",
                        .product(name: "FunctionsRuntime", package: "functions-host"),
                        .product(name: "FunctionsTesting", package: "functions-host"),
                    ]),
            ]
        )

        """
    }

    private var configuration: String {
        """
        {
          "project": "\(name.project)",
          "bundles": [ { "name": "\(name.text)", "product": "\(product)" } ]
        }

        """
    }

    private var readme: String {
        """
        # \(name.text)

        A guest book: functions in Swift that Firebase clients can call.

        ```
        swift test                       # runs the functions' tests, without a host
        functions-host serve --watch     # builds and serves them, and rebuilds when a source changes
        ```

        Sign the book, and read it:

        ```
        curl -s http://127.0.0.1:5001/\(name.project)/us-central1/sign \\
             -H 'Content-Type: application/json' -d '{"data":{"name":"Ada","text":"I was here."}}'
        curl -s http://127.0.0.1:5001/\(name.project)/us-central1/entries
        ```

        | function | kind | does |
        |---|---|---|
        | `sign` | callable | writes an entry, enqueues a task and publishes an event, in one commit |
        | `entries` | HTTP | lists the newest entries |
        | `countEntry` | document trigger | counts entries |
        | `thank` | task queue | leaves the guest a thank-you |
        | `greet` | custom event | stores who signed last |
        | `tidy` | schedule | removes old entries, every night |

        `Sources/\(product)` contains the functions and their models, `Tests` the tests, and `functions.json` the host's
        configuration. `Package.swift` has the path of the runtime's package on this machine. Its `Docs/authors.md`
        describes the rest, `Docs/recipes.md` calls to other services, and `Docs/serve-alone.md` standalone serving, for
        example on Cloud Run.

        """
    }
}

extension String {
    /// The string escaped for a Swift string literal.
    fileprivate var quoted: String {
        replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
