import HostConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HostConfiguration.Bundle {
    /// The path of the bundle's executable as a host in this directory finds it; nil if it isn't built.
    package func executable(in hostDirectory: String) -> String? {
        try? BundleLocator(hostDirectory: hostDirectory).executable(of: self)
    }
}

/// Finds the executable of a bundle of the configuration.
package struct BundleLocator {
    /// The directory of the running host's executable. Products built together with the host are next to it.
    package var hostDirectory: String

    package init(hostDirectory: String) {
        self.hostDirectory = hostDirectory
    }

    /// - Throws: ``BundleError`` with the searched paths if the executable doesn't exist.
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
                    reason: "it isn't built; run swift build --product \(product) in \(package). Searched for "
                        + candidates.joined(separator: ", "))
            }
            return found
        }
    }
}
