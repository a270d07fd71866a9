import ControlProtocol
import Deployments
import HostConfiguration
import ArgumentParser
import Foundation
import HostProcess

/// `functions-host deploy [PATH]`
struct DeployCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy",
        abstract: "Builds a bundle and deploys it to the running host, with the security rules and indexes.",
        discussion: """
            Builds the bundle's product in the release configuration, copies it into the data directory, and compares its \
            functions with those that are served. Once you confirm, the host starts and probes its workers, then switches \
            all functions at once; running invocations end in the old release. If anything fails, the old release keeps \
            serving. The rules and indexes that functions.json names are checked, shown and switched with it, unless they \
            are deployed already; --only takes one of the two. Exit codes: 0 success, or nothing to do; 1 failure; 3 no host is running; 64 invalid arguments.
            """)

    @OptionGroup var options: HostOptions

    @Argument(help: "The package's directory.")
    var path = "."

    @Option(help: "The bundle's name; by default the one in functions.json, or the product's.")
    var bundle: String?

    @Option(help: "The executable product to build, if the package has several.")
    var product: String?

    @Option(help: "A prebuilt executable; nothing is built.")
    var executable: String?

    @Option(help: "What to deploy: functions, or rules, which are the security rules and the indexes.")
    var only: Part?

    @Flag(name: .shortAndLong, help: "Don't ask for confirmation.")
    var yes = false

    @Flag(help: "Only show what would change.")
    var dryRun = false

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case functions, rules
    }

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let host = HostControl(configuration.data)
            // Checked before a long build.
            _ = try await host.ask(ControlRequest("releases", "list"), as: ReleaseListing.self)
            let deployment = Deployment(host: host, report: report, isJSON: options.json, asks: !yes, isDry: dryRun)
            if only == .rules {
                guard !RulesSource(configuration).paths.isEmpty else {
                    throw ValidationError(
                        "\(configuration.places.file) names no rules and no indexes; write \"rules\": \"firestore.rules\""
                    )
                }
                var request = ControlRequest("releases", "prepare-rules")
                request.add(RulesSource(configuration))
                request.add("user", OperatorName.current)
                return try await deployment.runRules(request)
            }
            // Checked before a long build; the host checks them again.
            if only == nil { _ = try ProjectRules(loading: RulesSource(configuration)) }
            let source = try DeploymentSource(self, configuration)
            let program = try source.build()
            var request = ControlRequest("releases", "prepare")
            request.add("bundle", source.bundle)
            request.add("executable", program)
            request.add("source", source.origin)
            request.add("user", OperatorName.current)
            if only == nil { request.add(RulesSource(configuration)) }
            try await deployment.run(request, as: .deploy)
        }
    }
}

extension ControlRequest {
    fileprivate mutating func add(_ source: RulesSource) {
        add("rules", source.rules)
        add("indexes", source.indexes)
        add("databaseRules", source.databaseRules)
    }
}

/// What to deploy: a product of a package, or an executable.
private struct DeploymentSource {
    let bundle: String
    let origin: String
    private let package: String
    private let product: String?
    private let executable: String?

    /// - Throws: ``BuildError`` if the source is ambiguous or missing.
    init(_ command: DeployCommand, _ configuration: HostConfiguration) throws {
        package = absolutePath(command.path)
        if let path = command.executable {
            let file = absolutePath(path)
            // Its copy is made executable: a copy that came by a network may have lost that.
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory), !isDirectory.boolValue,
                FileManager.default.isReadableFile(atPath: file)
            else { throw BuildError("\(file) isn't a readable file") }
            executable = file
            product = nil
            origin = file
            bundle = command.bundle ?? URL(fileURLWithPath: file).lastPathComponent
            return
        }
        executable = nil
        let package = package
        // The bundles in functions.json that come from this package.
        let configured: [(name: String, product: String)] = configuration.bundles.compactMap { bundle in
            guard case .product(let product, let place) = bundle.source, absolutePath(place) == package else {
                return nil
            }
            return (bundle.name, product)
        }
        let meant = configured.filter { entry in
            command.bundle.map { $0 == entry.name } ?? true && command.product.map { $0 == entry.product } ?? true
        }
        if let only = meant.first, meant.count == 1 {
            (bundle, product) = (command.bundle ?? only.name, command.product ?? only.product)
        } else if let named = command.product {
            (bundle, product) = (command.bundle ?? named, named)
        } else {
            guard meant.isEmpty else {
                throw BuildError(
                    "\(package) has several bundles: \(meant.map(\.name).joined(separator: ", ")); choose with --bundle"
                )
            }
            let products = try PackageBuild.executables(of: package)
            guard let only = products.first, products.count == 1 else {
                throw BuildError(
                    products.isEmpty
                        ? "\(package) has no executable product; a bundle must be one"
                        : "\(package) has several executables: \(products.joined(separator: ", ")); choose with --product"
                )
            }
            (bundle, product) = (command.bundle ?? only, only)
        }
        origin = package
    }

    func build() throws -> String {
        if let executable { return executable }
        guard let product else { throw BuildError("there is nothing to build") }
        let build = PackageBuild(package: package, products: [product])
        try build.run()
        return try build.path(of: product)
    }
}
