import StrictJSON
import Workers
import Foundation

extension ConfigurationReader {
    mutating func budget(_ node: JSONNode, key: String) -> FunctionBudget? {
        guard let object = object(node, key: key, known: ConfigurationKeys.budget) else { return nil }
        var budget = FunctionBudget()
        budget.invocationsPerDay = object["invocationsPerDay"].flatMap {
            integer($0, 1...1_000_000_000_000, "a number of invocations")
        }
        budget.computeSecondsPerDay = object["computeSecondsPerDay"].flatMap {
            integer($0, 1...1_000_000_000, "a time in seconds")
        }
        if let node = object["warnAt"], let share = share(node) { budget.warnAt = share }
        guard object["invocationsPerDay"] != nil || object["computeSecondsPerDay"] != nil else {
            report(
                "a budget needs \"invocationsPerDay\" or \"computeSecondsPerDay\"; write at least one of them",
                at: node.offset)
            return nil
        }
        return budget
    }

    mutating func alerts(_ node: JSONNode) -> HostConfiguration.Alerts {
        var alerts = HostConfiguration.Alerts()
        guard let object = object(node, key: "alerts", known: ConfigurationKeys.alerts) else { return alerts }
        if let node = object["webhook"], let text = string(node) {
            if Self.isWebURL(text) {
                alerts.webhook = text
            } else {
                report(
                    "\(node.summary) is not an http or https URL; write one such as "
                        + "https://example.com/hooks/functions",
                    at: node.offset)
            }
        }
        return alerts
    }

    /// A fraction above 0, up to and including 1.
    private mutating func share(_ node: JSONNode) -> Double? {
        let share: Double? =
            switch node.kind {
            case .integer(let value): Double(value)
            case .double(let value): value
            default: nil
            }
        guard let share, share > 0, share <= 1 else {
            report(
                "\(node.summary) is not a fraction; "
                    + "write a number above 0 and up to 1, such as 0.8", at: node.offset)
            return nil
        }
        return share
    }

    private static func isWebURL(_ text: String) -> Bool {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, let scheme = url.scheme else {
            return false
        }
        return ["http", "https"].contains(scheme.lowercased())
    }
}
