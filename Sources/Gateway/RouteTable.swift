import FunctionManifest
package import Workers

/// Finds the function of a URL.
///
/// A function has the local form `/PROJECT/REGION/NAME`, its name at the host `REGION-PROJECT.cloudfunctions.net`, and
/// `/NAME` at any other host, as behind a custom domain. A function that is served standalone has every path.
package struct RouteTable: Sendable {
    struct Match {
        let function: ServedFunction
        /// The part of the URL after the function's name: `/rest?query`, always with a slash.
        let target: String
    }

    let project: String
    private let byRegionAndName: [String: ServedFunction]
    private let byName: [String: ServedFunction]
    /// The function that has every path except the gateway's own, below `/__/`.
    private let target: ServedFunction?

    package init(project: String, functions: [ServedFunction], target: ServedFunction? = nil) {
        self.project = project
        self.target = target
        var byRegionAndName: [String: ServedFunction] = [:]
        var byName: [String: ServedFunction] = [:]
        for function in functions {
            byName[function.manifest.name] = function
            for region in function.manifest.regions {
                byRegionAndName[region + "/" + function.manifest.name] = function
            }
        }
        self.byRegionAndName = byRegionAndName
        self.byName = byName
    }

    /// All functions, by name.
    var functions: [ServedFunction] { byName.values.sorted { $0.manifest.name < $1.manifest.name } }

    func match(uri: String, host: String?) -> Match? {
        let path = Path(uri)
        if let target {
            return uri.hasPrefix("/__/") ? nil : Match(function: target, target: path.rest(from: uri.startIndex))
        }
        if let first = path.segment(at: 0), first.text == project,
            let region = path.segment(at: first.end), let name = path.segment(at: region.end),
            let function = byRegionAndName[uri.slice(region.start, name.end)]
        {
            return Match(function: function, target: path.rest(from: name.end))
        }
        guard let name = path.segment(at: 0), let function = byName[String(name.text)] else { return nil }
        // A cloud host name serves only functions of the region in that name.
        if let host, let region = cloudRegion(of: host), !function.manifest.regions.contains(region) { return nil }
        return Match(function: function, target: path.rest(from: name.end))
    }

    /// The region `asia-northeast1` of `asia-northeast1-PROJECT.cloudfunctions.net`.
    private func cloudRegion(of host: String) -> String? {
        let name = host.split(separator: ":", maxSplits: 1)[...].first ?? ""
        let suffix = "-\(project).cloudfunctions.net"
        return name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : nil
    }
}

/// A URI's path, split into segments without copying it.
private struct Path {
    struct Segment {
        let start: String.Index
        let end: String.Index
        let text: Substring
    }

    private let uri: String

    init(_ uri: String) { self.uri = uri }

    func segment(at offset: Int) -> Segment? { segment(at: uri.utf8.index(uri.startIndex, offsetBy: offset)) }

    /// The segment after the slash at `slash`; nil if there is none or it is empty.
    func segment(at slash: String.Index) -> Segment? {
        guard slash < uri.endIndex, uri.utf8[slash] == UInt8(ascii: "/") else { return nil }
        let start = uri.utf8.index(after: slash)
        let end =
            uri.utf8[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? uri.endIndex
        return start == end ? nil : Segment(start: start, end: end, text: uri[start..<end])
    }

    func rest(from index: String.Index) -> String {
        let rest = uri[index...]
        return rest.first == "/" ? String(rest) : "/" + rest
    }
}

extension String {
    fileprivate func slice(_ start: Index, _ end: Index) -> String { String(self[start..<end]) }
}
