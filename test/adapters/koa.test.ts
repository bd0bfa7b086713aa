import Koa from 'koa';
import { adapterConformance } from '../conformance/adapter.js';
import { koaApp, newParser } from '../support/koa-app.js';
import { koaCases } from './koa-cases.js';

adapterConformance('Koa 3', koaApp(Koa, newParser));
koaCases('Koa 3', Koa, { web: true });
