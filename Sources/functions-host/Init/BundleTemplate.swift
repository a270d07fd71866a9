import Foundation

/// A package of functions as its author begins with it: a guest book with one function of each kind.
struct BundleTemplate: Sendable {
    let name: BundleName
    let runtime: RuntimePackage

    var product: String { name.product }

    /// By their paths in the package.
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

    /// What no image has use for: products, data with its keys, secrets. Also where the context is the directory above.
    private static let outsideImages = """
        **/.build
        **/.functions
        **/.secrets
        **/.secrets.*
        **/.env
        **/.env.*
        **/.git

        """

    /// Writes the package, all of it or nothing. The versions of what the runtime depends on are its own.
    ///
    /// - Throws: a sentence where there is something at the path already, which stays as it is, or where it can't be
    ///   written.
    func write(to path: String) throws(InitError) {
        let manager = FileManager.default
        // A link that leads nowhere is there too.
        guard (try? manager.attributesOfItem(atPath: path)) == nil else {
            throw InitError("there is a \(path) already; nothing was written. Choose another name, or go elsewhere")
        }
        do {
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            throw InitError("\(path) can't be made: \(error.localizedDescription)")
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

    /// What to do next.
    /// - Parameter host: how this program was started.
    func greeting(host: String) -> String {
        """
        \(name.text) is made. It takes the runtime from \(runtime.path), as its Package.swift says.

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
                // Where the runtime's package stands on this machine.
                .package(name: "functions-host", path: "\(runtime.path.quoted)")
            ],
            targets: [
                .executableTarget(
                    name: "\(product)",
                    dependencies: [.product(name: "FunctionsRuntime", package: "functions-host")]),
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
        functions-host serve --watch     # builds and serves them, and again whenever a source changes
        ```

        Sign the book, and read it:

        ```
        curl -s http://127.0.0.1:5001/\(name.project)/us-central1/sign \\
             -H 'Content-Type: application/json' -d '{"data":{"name":"Ada","text":"I was here."}}'
        curl -s http://127.0.0.1:5001/\(name.project)/us-central1/entries
        ```

        | function | kind | does |
        |---|---|---|
        | `sign` | callable | writes an entry, and causes what follows from it, in one commit |
        | `entries` | HTTP | lists the newest entries |
        | `countEntry` | document trigger | counts entries |
        | `thank` | task queue | leaves the guest a thank-you |
        | `greet` | custom event | remembers who signed last |
        | `tidy` | schedule | removes old entries, every night |

        `Sources/\(product)` has the functions and their models, `Tests` their tests, `functions.json` what the host
        serves. `Package.swift` names the place of the runtime's package on this machine; its `Docs/authors.md` tells
        the rest, also how a bundle serves alone, as on Cloud Run.

        """
    }
}

extension String {
    /// As the inside of a Swift string literal.
    fileprivate var quoted: String {
        replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
