import { isReservation, type Step } from './step.js';

/**
 * The substitutes that `models[x].cheaper` declares, in order, and then theirs, each admitted afresh at its own price and
 * budgets. Helps where the model, money or a budget for certain models is full; never waits.
 */
export function cheaperModel(): Step {
  return {
    name: 'cheaperModel',
    canHelp: (refusal, call) =>
      call.model !== undefined &&
      refusal.full.length > 0 &&
      refusal.full.every(
        ({ charge }) => charge.scope === 'model' || charge.dimension === 'usd' || charge.budget.models !== undefined,
      ),
    async attempt(walk) {
      // A substitute's own substitutes come after all that were declared before them.
      const models = [...walk.substitutes(walk.call)];
      for (const model of models) {
        const lesser = walk.onModel(walk.call, model);
        const result = await walk.admit(lesser);
        if (isReservation(result)) return result;
        models.push(...walk.substitutes(lesser));
      }
      return undefined;
    },
  };
}
