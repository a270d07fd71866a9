extension HostConfiguration {
    /// The keys whose values differ and which a running host doesn't take over: all but those of params.
    package func fixedKeys(unlike other: HostConfiguration) -> [String] {
        let keys = [
            ("project", project == other.project), ("mode", mode == other.mode), ("data", data == other.data),
            ("listen", listen == other.listen), ("store", store == other.store), ("rules", rules == other.rules),
            ("indexes", indexes == other.indexes), ("bundles", bundles == other.bundles),
            ("functions", functions == other.functions), ("limits", limits == other.limits),
            ("alerts", alerts == other.alerts), ("releases", releases == other.releases),
        ]
        return keys.filter { !$0.1 }.map(\.0)
    }
}
