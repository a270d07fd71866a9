#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import FunctionManifest
import WorkerProtocol

extension FunctionBundle {
    /// Executes the host's command: `manifest`, or `worker NAME`.
    ///
    /// Exits with 64 for invalid arguments, and with 78 if the bundle is invalid.
    public static func main() { main(otherwise: []) }

    /// The same for a bundle with further commands.
    ///
    /// - Parameters:
    ///   - more: The further commands, with one line of help each.
    ///   - perform: Performs a further command; returns only if it doesn't know the arguments.
    package static func main(
        otherwise more: [(command: String, does: String)], perform: ([String], Manifest) -> Void = { _, _ in }
    ) {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let bundle = Self()
        let functions = bundle.configuredFunctions
        let manifest = Manifest(functions, params: bundle.params)
        let problems = manifest.problems(of: functions)
        guard problems.isEmpty else {
            StandardError.write(problems.map { "\(Self.self): \($0)\n" }.joined())
            ProcessControl.exit(78)
        }
        switch (arguments.first, arguments.dropFirst().first) {
        case ("manifest", nil):
            writeManifest(manifest)
        case ("worker", let name?):
            guard let function = functions.first(where: { $0.name == name }) else {
                StandardError.write("\(Self.self): there is no function \"\(name)\"\n")
                ProcessControl.exit(64)
            }
            Worker.run(function)
        default:
            perform(arguments, manifest)
            let program = CommandLine.arguments.first ?? "\(Self.self)"
            let commands = [(command: "manifest", does: "print the manifest of the functions as JSON")] + more
            let width = commands.map(\.command.count).max() ?? 0
            let lines = commands.map { command, does in
                "  \(program) \(command)\(String(repeating: " ", count: width - command.count))    \(does)\n"
            }
            StandardError.write(
                "\(Self.self) is a bundle of \(functions.count) functions. functions-host serves it. Commands:\n"
                    + lines.joined())
            ProcessControl.exit(64)
        }
    }

    /// Writes to the inherited link if there is one, so that printed output can't corrupt the manifest.
    private static func writeManifest(_ manifest: Manifest) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let json = try? encoder.encode(manifest) else {
            StandardError.write("\(Self.self): the manifest can't be encoded as JSON\n")
            ProcessControl.exit(70)
        }
        let descriptor = WorkerEnvironment.linkDescriptors.first ?? ProcessControl.standardOutput
        let line = Array(json) + [10]
        guard line.withUnsafeBytes({ ProcessControl.write($0, to: descriptor) }) else { ProcessControl.exit(74) }
    }
}
