#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import WorkerProtocol

extension FunctionBundle {
    /// Does what the host asks for on the command line: `manifest`, or `worker NAME`.
    ///
    /// Ends the process with 64 where the arguments are others, with 78 where the bundle is impossible.
    public static func main() {
        let arguments = CommandLine.arguments.dropFirst()
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
            let program = CommandLine.arguments.first ?? "\(Self.self)"
            StandardError.write(
                """
                \(Self.self) is a bundle of \(functions.count) functions. functions-host serves it; by itself it can
                  \(program) manifest        print what the functions are, as JSON

                """)
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
