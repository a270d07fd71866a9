import DocumentModel

extension QueryExplanation {
    /// Describes how a plan is executed.
    init(_ plan: QueryPlan) {
        var indexes: [IndexUse] = []
        var steps: [String] = []
        for part in plan.parts {
            let routes: [QueryRoute]
            switch part.way {
            case .document(let path):
                routes = []
                steps.append("get document \"\(path)\"")
            case .route(let route):
                routes = [route]
                steps.append(route.steps)
            case .smallest(let all):
                routes = all
                steps.append(all.map(\.steps).joined(separator: "; or, where that has fewer entries, "))
            case .race(let ordered, let others):
                routes = [ordered] + others
                steps.append(
                    routes.map(\.steps).joined(separator: "; or, where that reads fewer documents, "))
            }
            for index in routes.flatMap(\.indexes) where !indexes.contains(index) { indexes.append(index) }
        }
        if plan.parts.isEmpty { steps.append("nothing is read: the conditions contradict each other") }
        if plan.parts.count > 1 {
            steps.append("merge \(plan.parts.count) parts by the query's order, each document once")
        }
        self.init(indexes: indexes, steps: steps)
    }
}
