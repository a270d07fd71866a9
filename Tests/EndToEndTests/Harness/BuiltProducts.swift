import Foundation

/// The executables that the tests run.
///
/// They are in the directory of the tests' own executable. `FUNCTIONS_PRODUCTS` names another directory, such as that
/// of a release build.
enum BuiltProducts {
    static var host: String { path("functions-host") }
    static var shop: String { path("ShopFunctions") }
    static var chat: String { path("ChatFunctions") }
    static var fixture: String { path("FixtureFunctions") }
    static var alone: String { path("StandaloneFunctions") }

    static func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

    private static let directory: URL = {
        if let path = ProcessInfo.processInfo.environment["FUNCTIONS_PRODUCTS"] { return URL(fileURLWithPath: path) }
        // On Apple's systems the tests are a bundle beside the products, elsewhere an executable.
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return (tests ?? Bundle.main.executableURL ?? program).deletingLastPathComponent()
    }()
}
