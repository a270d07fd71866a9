import ControlProtocol
import Deployments
import HostConfiguration
import ArgumentParser
import Foundation

/// `functions-host deploy [PATH]`
struct DeployCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy", abstract: "Builds a bundle and has the running host serve it.",
        discussion: """
            The bundle's product is built in release and copied into the data directory; its functions are compared with \
            those that are served. Once you agree, its workers are started and probed, all functions are switched at \
            once, and what runs in the old release ends there. Anything that fails leaves the old release serving. Exit \
            codes: 0 done, or nothing to do; 1 not done; 3 no host runs there; 64 wrong arguments.
            """)

    @OptionGroup var options: HostOptions

    @Argument(help: "The package's directory.")
    var path = "."

    @Option(help: "The bundle's name: as in functions.json, else the product's.")
    var bundle: String?

    @Option(help: "The executable product to build, where the package has several.")
    var product: String?

    @Option(help: "An executable that is built already; nothing is built then.")
    var executable: String?

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @Flag(help: "Only tell what would change.")
    var dryRun = false

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let host = HostControl(configuration.data)
            // Before a long build.
            _ = try await host.ask(ControlRequest("releases", "list"), as: ReleaseListing.self)
            let source = try DeploymentSource(self, configuration)
            let program = try source.build()
            var request = ControlRequest("releases", "prepare")
            request.add("bundle", source.bundle)
            request.add("executable", program)
            request.add("source", source.origin)
            request.add("user", NSUserName())
            try await Deployment(host: host, report: report, isJSON: options.json, asks: !yes, isDry: dryRun)
                .run(request, as: .deploy)
        }
    }
}

/// What is deployed: a product of a package, or an executable.
private struct DeploymentSource {
    let bundle: String
    let origin: String
    private let package: String
    private let product: String?
    private let executable: String?

    /// - Throws: ``BuildError`` where it can't be told what is meant.
    init(_ command: DeployCommand, _ configuration: HostConfiguration) throws {
        package = absolutePath(command.path)
        if let path = command.executable {
            let file = absolutePath(path)
            executable = file
            product = nil
            origin = file
            bundle = command.bundle ?? URL(fileURLWithPath: file).lastPathComponent
            return
        }
        executable = nil
        let package = package
        // What functions.json says of this package.
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
                        ? "\(package) has no executable product; a bundle is one"
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
        return try PackageBuild(package: package, product: product).run()
    }
}
