package import FunctionManifest
import TextFormats
import Workers

/// Suggests a function for a name that no function has.
package enum NearestFunction {
    /// - Returns: such as `addNumbers (us-central1)`; nil if no name is like it.
    package static func of(_ name: String, in functions: [FunctionManifest]) -> String? {
        guard let nearest = NearestName.of(name, in: functions.map(\.name)),
            let function = functions.first(where: { $0.name == nearest })
        else { return nil }
        return "\(nearest) (\(function.regions.joined(separator: ", ")))"
    }
}

extension RouteTable {
    /// The function that a request's path may mean: one of that name in another region or project, or one of a similar
    /// name.
    func suggestion(for path: some StringProtocol) -> String? {
        let segments = path.split(separator: "/")
        let isOtherProject = segments.count >= 3 && segments[0] != project
        // A path without project and region may be that of a function that serves standalone.
        for name in segments.count >= 3 ? [segments[2], segments[0]] : segments.prefix(1) {
            guard let nearest = NearestFunction.of(String(name), in: functions.map(\.manifest)) else { continue }
            return isOtherProject ? "\(nearest) of the project \(project)" : nearest
        }
        return nil
    }
}
