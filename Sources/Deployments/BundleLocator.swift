import HostConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HostConfiguration.Bundle {
    /// Where the executable stands, as a host in that directory finds it; nil where it isn't built.
    package func executable(in hostDirectory: String) -> String? {
        try? BundleLocator(hostDirectory: hostDirectory).executable(of: self)
    }
}

/// Finds the executable that a bundle's entry in the configuration means.
package struct BundleLocator {
    /// The directory of the running host: a product built with it stands beside it.
    package var hostDirectory: String

    package init(hostDirectory: String) {
        self.hostDirectory = hostDirectory
    }

    /// - Throws: ``BundleError`` that says where it was looked for.
    func executable(of bundle: HostConfiguration.Bundle) throws(BundleError) -> String {
        switch bundle.source {
        case .executable(let path):
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw BundleError(executable: path, reason: "there is no executable file at this path")
            }
            return path
        case .product(let product, let package):
            let candidates = [hostDirectory, package + "/.build/release", package + "/.build/debug"]
                .map { $0 + "/" + product }
            guard let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
                throw BundleError(
                    executable: product,
                    reason: "it isn't built; run swift build --product \(product) in \(package). Looked for "
                        + candidates.joined(separator: ", "))
            }
            return found
        }
    }
}
