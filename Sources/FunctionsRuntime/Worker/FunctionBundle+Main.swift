#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import FunctionManifest
import WorkerProtocol

extension FunctionBundle {
    /// Does what the host asks for on the command line: `manifest`, or `worker NAME`.
    ///
    /// Ends the process with 64 where the arguments are others, with 78 where the bundle is impossible.
    public static func main() { main(otherwise: []) }

    /// The same for a bundle that can do more.
    ///
    /// - Parameters:
    ///   - more: the further commands, a line each, with what they do.
    ///   - perform: does what other arguments ask for, and returns only where they ask for nothing that it knows.
    package static func main(
        otherwise more: [(command: String, does: String)], perform: ([String], Manifest) -> Void = { _, _ in }
    ) {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let bundle = Self()
        let functions = bundle.functions
        let manifest = Manifest(functions, params: bundle.params)
        let problems = manifest.problems
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
            let commands = [(command: "manifest", does: "print what the functions are, as JSON")] + more
            let width = commands.map(\.command.count).max() ?? 0
            let lines = commands.map { command, does in
                "  \(program) \(command)\(String(repeating: " ", count: width - command.count))    \(does)\n"
            }
            StandardError.write(
                "\(Self.self) is a bundle of \(functions.count) functions. functions-host serves it; by itself it can\n"
                    + lines.joined())
            ProcessControl.exit(64)
        }
    }

    /// Writes to the inherited link where there is one, so that what the bundle prints can't get mixed in.
    private static func writeManifest(_ manifest: Manifest) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let json = try? encoder.encode(manifest) else {
            StandardError.write("\(Self.self): the manifest can't be written as JSON\n")
            ProcessControl.exit(70)
        }
        let descriptor = WorkerEnvironment.linkDescriptors.first ?? ProcessControl.standardOutput
        let line = Array(json) + [10]
        guard line.withUnsafeBytes({ ProcessControl.write($0, to: descriptor) }) else { ProcessControl.exit(74) }
    }
}
